import NIOHTTP1
public import PollerWire
import SafeNumbers

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension WatchRequest {
    /// Creates a request to watch a source.
    ///
    /// - `policy`: `auto`, `interactive`, `standard` or `patient`. `nil` means the server's default.
    /// - `until`: the goal, `left_pending`, `settled` or `final`. `nil` means `settled`.
    /// - `timeout`: the span to the deadline, 1 s to 90 days. `nil` means the usual lifetime of its kind.
    /// - `notify`: URLs of recipients, `https://…`, `mailto:…`, `redis+stream:NAME`, at most 16.
    /// - `clientSecret`: the source's client secret, if the server polls with a publishable key.
    /// - `metadata`: your names and values, returned with the watch, at most 4,096 bytes as JSON.
    /// - `charge`: the charge to make, exactly once, when the source becomes chargeable. `nil` applies the
    ///   account's default, if it has one. `.nothing` never charges.
    /// - `order`: your id of the order that this source pays: 1–255 printable characters, no space at either end.
    public init(
        _ name: WatchName,
        policy: String? = nil,
        until: String? = nil,
        timeout: Duration? = nil,
        notify: [String] = [],
        clientSecret: String? = nil,
        metadata: [String: String] = [:],
        charge: WatchCharge? = nil,
        order: String? = nil
    ) {
        self.init()
        source = name.source
        account = name.account
        kind = name.kind.map(Open.init(rawValue:))
        self.policy = policy.map(Open.init(rawValue:))
        self.until = until.map(Open.init(rawValue:))
        self.timeout = timeout.map(Span.init)
        self.notify = notify.isEmpty ? nil : notify
        self.clientSecret = clientSecret
        self.metadata = metadata.isEmpty ? nil : Texts(metadata)
        self.charge = charge
        self.order = order
    }

    /// Creates a request to watch a source under the default account.
    public init(source: String, policy: String? = nil, timeout: Duration? = nil) {
        self.init(WatchName(source), policy: policy, timeout: timeout)
    }
}

extension PollerClient {
    /// The maximum of items and bytes per request.
    ///
    /// They are far below the server's 10,000 items and 8 MiB, so that progress is visible and a lost response costs
    /// little.
    private static let partCountMax = 2000
    private static let partBytesMax = 2_097_152
    /// The maximum of attempts per part before the call fails.
    private static let attemptsMax = 5

    /// Watches many sources, in parts.
    ///
    /// Equal requests within a part count once.
    ///
    /// A part with an invalid item enqueues nothing and ends the call with the server's problem. Its item indexes count
    /// from the first request of the call. Earlier parts are then enqueued. A part without a response is sent again,
    /// which is safe.
    ///
    /// - `traceparent`: the trace of the watches (W3C Trace Context), stored with each and continued by its events. An
    ///   invalid value is ignored. Use `nil` if your tracing adds the header.
    /// - `progress`: called with the number of requests accepted so far.
    /// - `retrying`: called with the reason why a part is sent again.
    public func enqueue(
        _ requests: [WatchRequest],
        traceparent: String? = nil,
        progress: @Sendable (Int) -> Void = { _ in },
        retrying: @Sendable (PollerError) -> Void = { _ in }
    ) async throws -> BatchResult {
        var total = BatchResult()
        var start = 0
        while start < requests.count {
            var body = ""
            var end = start
            while end < requests.count, end - start < Self.partCountMax,
                body.utf8.count < Self.partBytesMax
            {
                body += requests[end].json + "\n"
                end += 1
            }
            do {
                total += try await enqueuePart(
                    body,
                    traceparent: traceparent,
                    isFirst: start == 0,
                    retrying
                )
            } catch PollerError.problem(let problem) {
                throw PollerError.problem(problem.moved(by: start))
            }
            start = end
            progress(end)
        }
        return total
    }

    private func enqueuePart(
        _ body: String,
        traceparent: String?,
        isFirst: Bool,
        _ retrying: @Sendable (PollerError) -> Void
    ) async throws -> BatchResult {
        var backoff = Backoff()
        // One key for all attempts, so that a payment that ends between two of them is not watched again.
        let name = UUID().uuidString
        while true {
            do {
                let answer = try await send(
                    .POST,
                    "/v1/watches/batch",
                    body: body,
                    type: "application/x-ndjson",
                    idempotencyKey: name,
                    traceparent: traceparent,
                    // A part may take longer than a usual response when the store is busy.
                    wait: .seconds(45)
                )
                return try answer.value()
            } catch let error as PollerError where error.isTransient {
                // If the server is unreachable at the first part, the call fails at once.
                if case .unreachable = error, isFirst { throw error }
                guard backoff.failures + 1 < Self.attemptsMax else { throw error }
                retrying(error)
                try await backoff.sleep(atLeast: error.retryAfter)
            }
        }
    }
}

extension BatchResult {
    static func += (lhs: inout BatchResult, rhs: BatchResult) {
        lhs.created = lhs.created.addingSaturating(rhs.created)
        lhs.restarted = lhs.restarted.addingSaturating(rhs.restarted)
        lhs.joined = lhs.joined.addingSaturating(rhs.joined)
        lhs.duplicates = lhs.duplicates.addingSaturating(rhs.duplicates)
        lhs.deprecation = lhs.deprecation ?? rhs.deprecation
        lhs.results += rhs.results
    }
}
