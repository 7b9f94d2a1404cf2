import Foundation
import StripeAPI
import Testing

@Suite struct RetryPolicyTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let name: String
        let outcome: Result<StripeResponse, StripeError>
        let isRepeated: Bool

        var testDescription: String { name }

        init(_ name: String, _ outcome: Result<StripeResponse, StripeError>, _ isRepeated: Bool) {
            self.name = name
            self.outcome = outcome
            self.isRepeated = isRepeated
        }
    }

    private static func answer(
        _ status: Int,
        shouldRetry: Bool? = nil,
        retryAfter: String? = nil,
        code: String? = nil
    ) -> Result<StripeResponse, StripeError> {
        .success(
            StripeResponse(
                status: status,
                headers: StripeHeaders(retryAfter: retryAfter, shouldRetry: shouldRetry),
                body: Data((code.map { #"{"error":{"code":"\#($0)"}}"# } ?? "{}").utf8)
            )
        )
    }

    static let rows = [
        Row("200", answer(200), false),
        Row("400", answer(400), false),
        Row("401", answer(401), false),
        Row("402", answer(402), false),
        Row("409", answer(409), true),
        Row("409, object locked", answer(409, code: "lock_timeout"), true),
        Row("429", answer(429, code: "rate_limit"), false),
        Row("429, object locked", answer(429, code: "lock_timeout"), true),
        Row("429, Should-Retry", answer(429, shouldRetry: true), true),
        Row("400, Should-Retry", answer(400, shouldRetry: true), true),
        Row("500", answer(500), true),
        Row("503", answer(503), true),
        Row("503, Should-Retry: false", answer(503, shouldRetry: false), false),
        Row("409, Should-Retry: false", answer(409, shouldRetry: false), false),
        Row("refused", .failure(.lost(.connection)), true),
        Row("lost", .failure(.lost(.reset)), true),
        Row("too slow", .failure(.lost(.timeout)), true),
        Row("cancelled", .failure(.lost(.cancelled)), false),
        Row("not HTTP", .failure(.lost(.notHTTP)), false),
        Row("too large", .failure(.bodyTooLarge(limitBytes: 1)), false),
        Row("unsendable", .failure(.invalidRequest("x")), false),
    ]

    @Test("calls are retried like in the official SDKs", arguments: rows)
    func isRepeated(row: Row) {
        let delay = StripeRetryPolicy().delay(after: row.outcome, attemptsMade: 1, jitter: 0.5)
        #expect((delay != nil) == row.isRepeated)
    }

    @Test("delays double from 0.5 to 5 s, with jitter and a minimum")
    func delays() {
        let policy = StripeRetryPolicy(retriesMax: 70)
        let delays = { (jitter: Double) in
            [1, 2, 3, 4, 5, 6, 70].map {
                policy.delay(after: Self.answer(500), attemptsMade: $0, jitter: jitter)
            }
        }
        #expect(delays(1).compactMap { $0 } == [0.5, 1, 2, 4, 5, 5, 5].map { .seconds($0) })
        #expect(
            delays(0).compactMap { $0 } == [0.5, 0.5, 1, 2, 2.5, 2.5, 2.5].map { .seconds($0) }
        )
    }

    @Test("the default is two retries, `never` has none")
    func attempts() {
        let policy = StripeRetryPolicy()
        #expect(policy.delay(after: Self.answer(500), attemptsMade: 2, jitter: 0) != nil)
        #expect(policy.delay(after: Self.answer(500), attemptsMade: 3, jitter: 0) == nil)
        #expect(
            StripeRetryPolicy.never.delay(after: Self.answer(500), attemptsMade: 1, jitter: 0)
                == nil
        )
    }

    @Test(
        "a Retry-After of up to a minute makes a delay longer, never shorter",
        arguments: [("7", 7.0), ("60", 60), ("61", 0.5), ("0", 0.5), ("-1", 0.5), ("soon", 0.5)]
    )
    func retryAfter(text: String, seconds: Double) {
        let delay = StripeRetryPolicy()
            .delay(after: Self.answer(503, retryAfter: text), attemptsMade: 1, jitter: 1)
        #expect(delay == .seconds(seconds))
    }
}
