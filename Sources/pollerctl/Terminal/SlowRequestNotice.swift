import PollerClient
import Synchronization

/// Reports a slow response on standard error, so that waiting does not look like a hang.
final class SlowRequestNotice: Sendable {
    /// The time before the notice.
    private static let delay = Duration.seconds(2)

    private let url: String?
    private let isReported = Mutex(false)

    private init(url: String?) { self.url = url }

    /// Runs an operation that may be slow.
    ///
    /// - `url`: the server; `nil` disables the notice.
    /// - `hasTimer`: whether to report a missing response; otherwise only retries are reported.
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
                    notice.report("no response from \(url ?? "") for 2 s")
                }
            }
            return try await body(notice)
        }
    }

    /// Reports why the client retries.
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
        Terminal.printError("\(reason)\nRetrying for up to 30 s.")
    }
}
