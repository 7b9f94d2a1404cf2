import PollerClient
import Synchronization

/// Says on the error output that an answer takes long, so that nobody takes waiting for a hang.
///
/// A class, because a timer and the repeats of the client share what was said.
final class SlowRequestNotice: Sendable {
    /// After this long people wonder.
    private static let delay = Duration.seconds(2)

    private let url: String?
    private let isReported = Mutex(false)

    private init(url: String?) { self.url = url }

    /// Runs what may take long.
    ///
    /// - `url`: the server; nil to say nothing.
    /// - `hasTimer`: whether to speak when there is no answer of any kind; without, of repeats alone.
    static func during<Value: Sendable>(
        _ url: String?,
        hasTimer: Bool,
        _ body: (SlowRequestNotice) async throws -> Value
    ) async throws -> Value {
        let notice = SlowRequestNotice(url: url)
        return try await withThrowingTaskGroup(of: Void.self) { group in
            defer { group.cancelAll() }
            if hasTimer {
                group.addTask {
                    try await Task.sleep(for: Self.delay)
                    notice.report("no answer from \(url ?? "") for 2 s")
                }
            }
            return try await body(notice)
        }
    }

    /// Says reason a request is sent again.
    func reportRetry(after error: PollerError) {
        if case .problem(let problem) = error {
            report(problem.userMessage)
        } else {
            report("\(error)")
        }
    }

    private func report(_ reason: String) {
        let isFirst = isReported.withLock { isReported in
            defer { isReported = true }
            return !isReported
        }
        guard isFirst, url != nil else { return }
        Terminal.printError("\(reason)\nStill trying, for half a minute at most.")
    }
}
