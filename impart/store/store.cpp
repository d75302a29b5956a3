#include "impart/store/store.h"

#include <thread>

namespace impart {

void Store::finish_moves() {
  while (!advance_moves()) std::this_thread::yield();
}

}  // namespace impart
