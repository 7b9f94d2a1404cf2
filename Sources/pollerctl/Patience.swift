import PollerClient
import Synchronization

/// Says on the error output that an answer takes long, so that nobody takes waiting for a hang.
///
/// A class, because a timer and the repeats of the client share what was said.
final class Patience: Sendable {
    /// After this long people wonder.
    private static let span = Duration.seconds(2)

    private let url: String?
    private let isSaid = Mutex(false)

    private init(url: String?) { self.url = url }

    /// Runs what may take long.
    ///
    /// - `url`: the server; nil to say nothing.
    /// - `hasTimer`: whether to speak when there is no answer of any kind; without, of repeats alone.
    static func during<Value: Sendable>(
        _ url: String?,
        hasTimer: Bool,
        _ body: (Patience) async throws -> Value
    ) async throws -> Value {
        let patience = Patience(url: url)
        return try await withThrowingTaskGroup(of: Void.self) { group in
            defer { group.cancelAll() }
            if hasTimer {
                group.addTask {
                    try await Task.sleep(for: Self.span)
                    patience.say("no answer from \(url ?? "") for 2 s")
                }
            }
            return try await body(patience)
        }
    }

    /// Says why a request is sent again.
    func say(because error: PollerError) {
        if case .problem(let problem) = error { say(problem.told) } else { say("\(error)") }
    }

    private func say(_ why: String) {
        let isFirst = isSaid.withLock { isSaid in
            defer { isSaid = true }
            return !isSaid
        }
        guard isFirst, url != nil else { return }
        Terminal.printError("\(why)\nStill trying, for half a minute at most.")
    }
}
