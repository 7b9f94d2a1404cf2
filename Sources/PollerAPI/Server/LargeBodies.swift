import Synchronization

/// How many bodies that are larger than most are held at a time, whoever has sent them.
///
/// A class, because all requests of a route share it.
final class LargeBodies: Sendable {
    private let free: Mutex<Int>

    /// Room for `most` of them.
    init(most: Int) {
        free = Mutex(most)
    }

    /// The place of one request, taken when its body turns out to be large.
    ///
    /// A class, because the body is read by a task of its own.
    final class Place: Sendable {
        private let bodies: LargeBodies
        private let isTaken = Mutex(false)

        init(_ bodies: LargeBodies) {
            self.bodies = bodies
        }

        /// Takes the place once; false when there is none.
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

        /// Gives the place back, if it was taken.
        func leave() {
            isTaken.withLock { isTaken in
                if isTaken { bodies.free.withLock { $0 += 1 } }
                isTaken = false
            }
        }
    }
}
