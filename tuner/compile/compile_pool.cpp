// SPDX-License-Identifier: Apache-2.0
#include "tuner/compile/compile_pool.hpp"

#include <algorithm>
#include <utility>

#include "tuner/process/moment.hpp"

namespace tilewright {

CompilePool::CompilePool(Compiler& compiler, int workers) : compiler_(compiler) {
  const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  const int count = workers > 0 ? workers : cores;
  threads_.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) threads_.emplace_back([this, i] { work(i); });
}

CompilePool::~CompilePool() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  submitted_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

bool CompilePool::submit(const std::string& key, std::function<CompileRequest()> request) {
  {
    const std::lock_guard lock(mutex_);
    const auto [job, is_new] = jobs_.try_emplace(key);
    if (!is_new) return false;
    job->second.request = std::move(request);
    waiting_.push_back(key);
  }
  submitted_.notify_one();
  return true;
}

bool CompilePool::submit(const std::string& key, CompileRequest request) {
  return submit(key, [request = std::move(request)] { return request; });
}

std::optional<CompilePool::Finished> CompilePool::next(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  const auto ready = [this] { return !done_.empty() || jobs_.empty(); };
  if (!changed_.wait_for(lock, patience, ready) || done_.empty()) return std::nullopt;
  return hand_out(jobs_.find(done_.front()));
}

std::optional<CompilePool::Finished> CompilePool::take(const std::string& key) {
  std::unique_lock lock(mutex_);
  // Looked up each time, because the job may be cancelled or taken by another thread meanwhile.
  for (auto job = jobs_.find(key); job != jobs_.end(); job = jobs_.find(key)) {
    if (job->second.state == State::done) return hand_out(job);
    changed_.wait(lock);
  }
  return std::nullopt;
}

// Requires the lock.
CompilePool::Finished CompilePool::hand_out(std::map<std::string, Job>::iterator job) {
  Finished finished = std::move(job->second.finished);
  done_.erase(std::find(done_.begin(), done_.end(), job->first));
  jobs_.erase(job);
  // Others may wait for this job, or for the last job to be taken.
  changed_.notify_all();
  return finished;
}

void CompilePool::hurry(const std::string& key) {
  const std::lock_guard lock(mutex_);
  const auto place = std::find(waiting_.begin(), waiting_.end(), key);
  if (place != waiting_.end()) std::rotate(waiting_.begin(), place, place + 1);
}

std::size_t CompilePool::cancel() {
  std::size_t dropped = 0;
  {
    const std::lock_guard lock(mutex_);
    dropped = waiting_.size();
    for (const std::string& key : waiting_) jobs_.erase(key);
    waiting_.clear();
  }
  changed_.notify_all();
  return dropped;
}

bool CompilePool::pause(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  paused_ = true;
  return changed_.wait_for(lock, patience, [this] { return running_ == 0; });
}

void CompilePool::resume() {
  {
    const std::lock_guard lock(mutex_);
    paused_ = false;
  }
  submitted_.notify_all();
}

std::size_t CompilePool::unfinished() const {
  const std::lock_guard lock(mutex_);
  return jobs_.size() - done_.size();
}

void CompilePool::work(int worker) {
  std::unique_lock lock(mutex_);
  for (;;) {
    submitted_.wait(lock, [this] { return stopping_ || (!paused_ && !waiting_.empty()); });
    if (stopping_) return;
    const auto job = jobs_.find(waiting_.front());
    waiting_.pop_front();
    job->second.state = State::running;
    ++running_;
    const std::function<CompileRequest()> request = std::move(job->second.request);
    lock.unlock();
    Finished finished{job->first, {}, nullptr, worker, moment_us()};
    try {
      finished.result = compiler_.compile(request());
    } catch (...) {
      finished.error = std::current_exception();  // NOLINT: carried to whoever takes the job
    }
    lock.lock();
    // Only its worker removes a running job from the map before it is done.
    job->second.finished = std::move(finished);
    job->second.state = State::done;
    --running_;
    done_.push_back(job->first);
    changed_.notify_all();
  }
}

}  // namespace tilewright
