// Keeps oneDNN on the calling thread.
#pragma once

// Of the OpenMP runtime that oneDNN is linked with; <omp.h> is not on every compiler's path.
extern "C" {
void omp_set_num_threads(int threads);  // NOLINT(readability-identifier-naming)
int omp_get_max_threads();              // NOLINT(readability-identifier-naming)
}

namespace qb::execute {

// oneDNN asks OpenMP for the number of threads when it makes a primitive and when it runs one. The
// setting belongs to the calling thread, so runs on several threads of ours do not see each other.
class SingleThreadScope {
 public:
  SingleThreadScope() : before_(omp_get_max_threads()) { omp_set_num_threads(1); }
  ~SingleThreadScope() { omp_set_num_threads(before_); }
  SingleThreadScope(const SingleThreadScope&) = delete;
  SingleThreadScope& operator=(const SingleThreadScope&) = delete;

 private:
  const int before_;
};

}  // namespace qb::execute
