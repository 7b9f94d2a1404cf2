import Synchronization

/// A gate that holds reads back between the read and the reply, and counts them.
///
/// Changes meanwhile are not in the reply. This is a class because the store and the test share it.
package final class ReadGate: Sendable {
    private struct State: Sendable {
        var count = 0
        var isShut = false
        var held: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    /// Creates an open gate.
    package init() {}

    /// The number of reads so far.
    package var count: Int { state.withLock(\.count) }
    /// The number of reads held back now.
    package var heldCount: Int { state.withLock(\.held.count) }

    /// Holds back reads from now on.
    package func shut() {
        state.withLock { $0.isShut = true }
    }

    /// Releases the held reads, and opens the gate.
    package func open() {
        let held = state.withLock { state in
            defer { state.held = [] }
            state.isShut = false
            return state.held
        }
        for read in held { read.resume() }
    }

    /// Counts a read, and returns when it may reply.
    package func pass() async {
        await withCheckedContinuation { read in
            let isFree = state.withLock { state in
                state.count += 1
                if state.isShut { state.held.append(read) }
                return !state.isShut
            }
            if isFree { read.resume() }
        }
    }
}
