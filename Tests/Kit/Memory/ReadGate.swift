import Synchronization

/// Holds reads back between their look and their answer, for as long as a test wants, and counts them.
///
/// What happens meanwhile is not in the answer. A class, because the store and the test share it.
package final class ReadGate: Sendable {
    private struct State: Sendable {
        var count = 0
        var isShut = false
        var held: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    /// A gate that is open.
    package init() {}

    /// How many have looked so far.
    package var count: Int { state.withLock(\.count) }
    /// How many are held back now.
    package var heldCount: Int { state.withLock(\.held.count) }

    /// Holds back whoever looks from now on.
    package func shut() {
        state.withLock { $0.isShut = true }
    }

    /// Lets those who are held back go on, and holds nobody back.
    package func open() {
        let held = state.withLock { state in
            defer { state.held = [] }
            state.isShut = false
            return state.held
        }
        for read in held { read.resume() }
    }

    /// Somebody has looked: returns when they may answer.
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
