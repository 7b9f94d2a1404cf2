import Synchronization

/// Limits the number of large bodies held at a time, across all clients.
final class LargeBodies: Sendable {
    private let free: Mutex<Int>

    /// Creates a limit of `most` bodies.
    init(most: Int) {
        free = Mutex(most)
    }

    /// The slot of one request, taken when its body turns out to be large.
    final class Slot: Sendable {
        private let bodies: LargeBodies
        private let isTaken = Mutex(false)

        init(_ bodies: LargeBodies) {
            self.bodies = bodies
        }

        /// Takes the slot once; `false` if none is free.
        func take() -> Bool {
            isTaken.withLock { isTaken in
                if isTaken { return true }
                isTaken = bodies.free.withLock { free in
                    guard free > 0 else { return false }
                    free -= 1
                    return true
                }
                return isTaken
            }
        }

        /// Releases the slot if it was taken.
        func leave() {
            isTaken.withLock { isTaken in
                if isTaken { bodies.free.withLock { $0 += 1 } }
                isTaken = false
            }
        }
    }
}
