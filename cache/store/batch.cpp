// SPDX-License-Identifier: Apache-2.0
#include "cache/store/store_impl.hpp"
#include "cache/store/whole_file.hpp"

namespace tilewright {

struct Store::Batch::State {
  explicit State(Impl& impl_of_store) : impl(impl_of_store), transaction(impl.database.begin_write()) {
    impl.in_batch = true;
  }
  ~State() {
    impl.in_batch = false;
    // Drops values read from the batch's own writes, which may not have been committed.
    impl.kept = {};
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  Impl& impl;
  Transaction transaction;
};

Store::Batch::Batch(Store& store) {
  Impl& impl = *store.impl_;
  constexpr const char* kDoing = "write";
  if (!impl.writable || impl.in_batch) {
    throw fault(kDoing, store.path(), impl.writable ? "has a batch of writes already" : "was opened for reading only",
                "Nothing was written. Open it with StoreAccess::write, and end one batch before the next");
  }
  impl.reading(kDoing, [&] { state_ = std::make_unique<State>(impl); });
}

Store::Batch::~Batch() = default;

void Store::Batch::commit() {
  state_->impl.reading("write", [&] { state_->transaction.commit(); });
  state_.reset();
}

void WholeFile::seal(Store& store) {
  store.impl_->reading("make one file of the cache", [&] { store.impl_->database.seal(); });
}

void WholeFile::write_compact(Store& store, const std::filesystem::path& file) {
  store.impl_->reading("write the cache into one file", [&] { store.impl_->database.write_compact(file); });
}

}  // namespace tilewright
