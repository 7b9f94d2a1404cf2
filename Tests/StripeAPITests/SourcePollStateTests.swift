import Testing

@testable import StripeAPI

/// The polling schedule, according to the SDK.
@Suite struct SourcePollStateTests {
    private static let pending = SourcePollState.Answer.snapshot(SourceSnapshot(source: .test()))

    /// The delays after a series of polls, and the end if one of them ended the run.
    private func run(
        _ answers: [SourcePollState.Answer],
        timeout: Duration = .seconds(300),
        jitter: Double = 0
    ) -> (delays: [Duration], end: SourcePollEnd?) {
        var state = SourcePollState(timeout: timeout)
        var delays: [Duration] = []
        var elapsed = Duration.zero
        for answer in answers {
            switch state.step(after: answer, elapsed: elapsed, jitter: jitter) {
            case .end(let end): return (delays, end)
            case .poll(let delay):
                delays.append(delay)
                elapsed += delay
            }
        }
        return (delays, nil)
    }

    @Test("a pending source is polled every 1.5 s until the timeout")
    func pending() {
        let (delays, end) = run(Array(repeating: Self.pending, count: 9), timeout: .seconds(10))
        #expect(delays == Array(repeating: .seconds(1.5), count: 6) + [.seconds(1)])
        #expect(end == .timedOut)
    }

    @Test(
        "any other status ends polling, including an unknown one",
        arguments: ["chargeable", "consumed", "failed", "canceled", "asleep"]
    )
    func leftPending(status: String) {
        let (delays, end) = run([.snapshot(SourceSnapshot(source: .test(status)))])
        #expect(delays.isEmpty)
        #expect(end == .leftPending)
    }

    @Test("server errors double the delay from 3 to 24 s, and the fifth in a row ends polling")
    func serverErrors() {
        let (delays, end) = run(Array(repeating: .failed(.status(500)), count: 9))
        #expect(delays == [3, 6, 12, 24].map { .seconds($0) })
        #expect(end == .failed)
    }

    @Test("a lost connection keeps the delay and counts as a failure")
    func lostConnections() {
        #expect(run(Array(repeating: .failed(.lost(.reset)), count: 9)).delays.count == 4)
        let mixed = run([
            .failed(.status(502)), .failed(.lost(.connection)), .failed(.status(503)),
            .failed(.lost(.reset)), .failed(.status(500)),
        ])
        #expect(mixed.delays == [3, 3, 6, 6].map { .seconds($0) })
        #expect(mixed.end == .failed)
    }

    @Test("a successful poll resets interval and counters")
    func reset() {
        let failures = Array(repeating: SourcePollState.Answer.failed(.status(500)), count: 4)
        let (delays, end) = run(failures + [Self.pending] + failures)
        #expect(delays == [3, 6, 12, 24, 1.5, 3, 6, 12, 24].map { .seconds($0) })
        #expect(end == nil)
    }

    @Test("a 4xx ends polling immediately", arguments: [400, 401, 403, 404, 409])
    func clientErrors(status: Int) {
        #expect(run([.failed(.status(status))]).end == .failed)
    }

    @Test("a 429 is retried three times, like in the SDK's transport")
    func rateLimited() {
        let limited = Array(repeating: SourcePollState.Answer.failed(.status(429)), count: 4)
        let (delays, end) = run(limited, jitter: 0.5)
        #expect(delays == [1.25, 4.25, 9.25].map { .seconds($0) })
        #expect(end == .failed)
        #expect(run(Array(limited[..<3]) + [Self.pending] + limited[..<3]).end == nil)
    }

    @Test("an error that a retry cannot resolve ends polling immediately")
    func permanentErrors() {
        for error in [
            StripeError.lost(.timeout), .lost(.notHTTP), .bodyTooLarge(limitBytes: 1),
            .invalidRequest("x"),
        ] {
            #expect(run([.failed(error)]).end == .failed)
        }
        #expect(run([.failed(.lost(.cancelled))]).end == .stopped)
    }

    @Test("the timeout is at most five minutes, and at least one poll is made")
    func bounds() {
        var state = SourcePollState(timeout: .seconds(3600))
        #expect(state.remaining(at: .zero) == .seconds(300))
        #expect(state.step(after: Self.pending, elapsed: .seconds(300)) == .end(.timedOut))
        #expect(run([Self.pending], timeout: .seconds(-1)).end == .timedOut)
        #expect(
            run([.snapshot(SourceSnapshot(source: .test("chargeable")))], timeout: .zero).end
                == .leftPending
        )
    }

    @Test("the time of a cluster's request counts as delay, and a closed watch ends polling")
    func cluster() {
        var state = SourcePollState(timeout: .seconds(300))
        let seen = SourcePollState.Answer.snapshot(SourceSnapshot(source: .test(), seq: 1))
        #expect(
            state.step(after: seen, elapsed: .zero, duration: .seconds(30)) == .poll(after: .zero)
        )
        #expect(
            state.step(after: seen, elapsed: .zero, duration: .seconds(1))
                == .poll(after: .seconds(0.5))
        )
        let closed = SourceSnapshot(source: .test(), seq: 1, closedReason: "expired")
        #expect(
            state.step(after: .snapshot(closed), elapsed: .zero) == .end(.closed(reason: "expired"))
        )
    }
}
