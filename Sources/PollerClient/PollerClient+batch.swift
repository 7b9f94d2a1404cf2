import NIOHTTP1

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension PollerClient {
    /// Items and bytes of one request: far below the server's 10,000 and 8 MiB, so that progress
    /// shows and a lost answer costs little.
    private static let partCountMax = 2000
    private static let partBytesMax = 2_097_152
    /// Tries of one part before the whole is given up.
    private static let triesMax = 5

    /// Watches many sources, in parts; equal requests count once within a part.
    ///
    /// A part with a wrong item enqueues nothing and ends the whole with the server's problem,
    /// whose items count from the first request given here; parts before it are enqueued then.
    /// A part without an answer is sent again, which is safe.
    ///
    /// `progress`: told how many requests have been accepted so far.
    public func enqueue(
        _ requests: [WatchRequest],
        progress: @Sendable (Int) -> Void = { _ in }
    ) async throws -> BatchResult {
        let encoder = Self.encoder()
        var total = BatchResult()
        var start = 0
        while start < requests.count {
            var body = ""
            var end = start
            while end < requests.count, end - start < Self.partCountMax,
                body.utf8.count < Self.partBytesMax
            {
                body += try requests[end].line(encoder) + "\n"
                end += 1
            }
            do {
                total += try await enqueuePart(body, isFirst: start == 0)
            } catch PollerError.problem(let problem) {
                throw PollerError.problem(problem.moved(by: start))
            }
            start = end
            progress(end)
        }
        return total
    }

    private func enqueuePart(_ body: String, isFirst: Bool) async throws -> BatchResult {
        var backoff = Backoff()
        while true {
            do {
                let answer = try await send(
                    .POST,
                    "/v1/watches/batch",
                    body: body,
                    type: "application/x-ndjson",
                    // A part may take longer than a usual answer when the store is busy.
                    wait: .seconds(45)
                )
                return try answer.decoded(BatchResult.self)
            } catch let error as PollerError where error.isTransient {
                // Who cannot be reached at all is told so at once.
                if case .unreachable = error, isFirst { throw error }
                guard backoff.failures + 1 < Self.triesMax else { throw error }
                try await backoff.sleep(atLeast: error.retryAfter)
            }
        }
    }

    /// Names in order, so that equal requests are equal bytes.
    static func encoder() -> JSONEncoder {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return encoder
    }
}
