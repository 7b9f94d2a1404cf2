import NIOHTTP1
public import PollerWire
import SafeNumbers

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension WatchRequest {
    /// Describes what to watch.
    ///
    /// - `policy`: `interactive`, `standard` or `patient`; nil is the server's choice.
    /// - `until`: how far to follow, `left_pending`, `settled` or `final`; nil is `settled`.
    /// - `timeout`: the span to the deadline, 1 s to 90 days; nil is what its kind lives for.
    /// - `notify`: where to tell, `https://…`, `mailto:…`, `redis+stream:NAME`; at most 16.
    /// - `clientSecret`: the source's own secret, where the server polls with a publishable key.
    /// - `metadata`: your own names and values, repeated in the watch; at most 4,096 bytes as JSON.
    /// - `charge`: what to charge, exactly once, when the source becomes chargeable; nil charges nothing.
    /// - `order`: the order that is paid by it, as you call it: 1–255 printable characters, no space at either
    ///   end.
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

    /// Describes what to watch under the default account.
    public init(source: String, policy: String? = nil, timeout: Duration? = nil) {
        self.init(WatchName(source), policy: policy, timeout: timeout)
    }
}

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
    /// - `traceparent`: the trace that the watches belong to (W3C Trace Context), kept with each and
    ///   carried on by its events; what is none is ignored. Nil where tracing adds one by itself.
    /// - `progress`: told how many requests have been accepted so far.
    /// - `retrying`: told why a part is sent again.
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
        // One name for all tries: a payment that has ended between two is not watched anew.
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
                    // A part may take longer than a usual answer when the store is busy.
                    wait: .seconds(45)
                )
                return try answer.value()
            } catch let error as PollerError where error.isTransient {
                // A server that cannot be reached is reported at once.
                if case .unreachable = error, isFirst { throw error }
                guard backoff.failures + 1 < Self.triesMax else { throw error }
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
