import StripeAPI
import Synchronization
import Testing

@Suite struct SourcePollerTests {
    /// Records the calls of a callback.
    private final class CallbackRecorder: Sendable {
        private let calls = Mutex<[(Source?, StripeError?)]>([])

        var count: Int { calls.withLock { $0.count } }
        var sources: [String?] { calls.withLock { $0.map { $0.0?.status.rawValue } } }
        var errors: [StripeError?] { calls.withLock { $0.map { $0.1 } } }

        func record(_ source: Source?, _ error: StripeError?) {
            calls.withLock { $0.append((source, error)) }
        }
    }

    @Test("a source is polled until it is no longer pending")
    func follow() async {
        let clock = TestClock()
        let reader = ScriptedReader([.status("pending"), .status("pending"), .status("chargeable")])
        let result = await SourcePoller(reader: reader, clock: clock)
            .startPollingSource(
                withId: "src_1",
                clientSecret: ClientSecret(rawValue: "s"),
                timeout: .seconds(10)
            )
        #expect(result.end == .leftPending)
        #expect(result.source?.status == .chargeable)
        #expect(result.error == nil)
        #expect(clock.slept == [.seconds(1.5), .seconds(1.5)])
        #expect(reader.requests.allSatisfy { $0.clientSecret?.rawValue == "s" })
        #expect(reader.requests.first?.timeout == .seconds(10))
    }

    @Test("after the timeout the last source is returned, still pending")
    func timeout() async {
        let clock = TestClock()
        let reader = ScriptedReader([.status("pending")])
        let result = await SourcePoller(reader: reader, clock: clock)
            .startPollingSource(withId: "src_1", timeout: .seconds(10))
        #expect(result.end == .timedOut)
        #expect(result.source?.status == .pending)
        #expect(clock.now.time == .seconds(10))
        #expect(reader.requests.count == 8)
        // The last poll still has time for a response.
        #expect(reader.requests.last?.timeout == .seconds(5))
    }

    @Test("at least one poll is made, regardless of the timeout")
    func zeroTimeout() async {
        let reader = ScriptedReader([.status("chargeable")])
        let result = await SourcePoller(reader: reader, clock: TestClock())
            .startPollingSource(withId: "src_1", timeout: .zero)
        #expect(result.end == .leftPending)
    }

    @Test("an error is returned with the last source, and is not a failed payment")
    func failure() async {
        let reader = ScriptedReader([.status("pending"), .failure(.status(404))])
        let result = await SourcePoller(reader: reader, clock: TestClock())
            .startPollingSource(withId: "src_1", timeout: .seconds(10))
        #expect(result.end == .failed)
        #expect(result.source?.status == .pending)
        #expect(result.error?.status == 404)
    }

    @Test("a refused connection is tried five times")
    func refused() async throws {
        // A port that was free a moment ago and is closed again.
        let address = try await ScriptedServer.withRunning(.close) { $0.address }
        let clock = TestClock()
        let key = StripeKey("sk_test_0123456789abcdef")
        let configuration = StripeClientConfiguration(key: key, baseURL: address)
        let reader = StripeSourceReader(client: StripeClient(configuration: configuration))
        let result = await SourcePoller(reader: reader, clock: clock)
            .startPollingSource(withId: "src_1", timeout: .seconds(300))
        #expect(result.end == .failed)
        #expect(clock.slept == Array(repeating: .seconds(1.5), count: 4))
    }

    @Test("a callback is called once, with a source or an error")
    func callback() async {
        let callbacks = CallbackRecorder()
        let answers: [(ScriptedReader.Answer, String?)] = [
            (.status("chargeable"), "chargeable"), (.failure(.status(401)), nil),
            (.snapshot(SourceSnapshot(source: nil, seq: 0, closedReason: "gone")), nil),
        ]
        for (index, (answer, status)) in answers.enumerated() {
            SourcePoller(reader: ScriptedReader([answer]), clock: TestClock())
                .startPollingSource(
                    withId: "src_1",
                    timeout: .seconds(10),
                    completion: { callbacks.record($0, $1) }
                )
            #expect(await eventually { callbacks.count == index + 1 })
            #expect(callbacks.sources.last == status)
            // A callback without source and error would leave the caller nothing to act on.
            #expect((callbacks.errors.last.flatMap { $0 } != nil) == (status == nil))
        }
    }

    @Test("a second call for a source joins the first: one run, two results")
    func join() async {
        let reader = ScriptedReader([.held("pending"), .status("chargeable")])
        let poller = SourcePoller(reader: reader, clock: TestClock())
        let callbacks = CallbackRecorder()
        async let first = poller.startPollingSource(withId: "src_1", timeout: .seconds(10))
        #expect(await eventually { reader.heldCount == 1 })
        poller.startPollingSource(withId: "src_1", timeout: .seconds(10)) {
            callbacks.record($0, $1)
        }
        reader.release()
        #expect(await first.source?.status == .chargeable)
        #expect(await eventually { callbacks.count == 1 })
        #expect(callbacks.sources == ["chargeable"])
        #expect(reader.requests.count == 2)
    }

    @Test("stop calls no callback, and the next call starts a new run")
    func stopCallback() async {
        let clock = TestClock(advancesOnSleep: false)
        let reader = ScriptedReader([.status("pending"), .status("chargeable")])
        let poller = SourcePoller(reader: reader, clock: clock)
        let callbacks = CallbackRecorder()
        poller.startPollingSource(withId: "src_1", timeout: .seconds(10)) {
            callbacks.record($0, $1)
        }
        #expect(await eventually { clock.sleeperCount == 1 })
        poller.stopPollingSource(withId: "src_1")
        #expect(await eventually { clock.sleeperCount == 0 })
        let next = await poller.startPollingSource(withId: "src_1", timeout: .seconds(10))
        #expect(next.source?.status == .chargeable)
        #expect(reader.requests.count == 2)
        #expect(callbacks.count == 0)
    }

    @Test("stop returns the last source to async callers")
    func stopAsync() async {
        let clock = TestClock(advancesOnSleep: false)
        let poller = SourcePoller(reader: ScriptedReader([.status("pending")]), clock: clock)
        async let waiting = poller.startPollingSource(withId: "src_1", timeout: .seconds(10))
        #expect(await eventually { clock.sleeperCount == 1 })
        poller.stopPollingSource(withId: "src_1")
        let result = await waiting
        #expect(result.end == .stopped)
        #expect(result.source?.status == .pending)
        #expect(await eventually { clock.sleeperCount == 0 })
    }

    @Test("the late result of a stopped run does not affect the next run")
    func lateResult() async {
        let reader = ScriptedReader([.held("chargeable"), .held("failed")])
        let poller = SourcePoller(reader: reader, clock: TestClock())
        async let stopped = poller.startPollingSource(withId: "src_1", timeout: .seconds(10))
        #expect(await eventually { reader.heldCount == 1 })
        poller.stopPollingSource(withId: "src_1")
        #expect(await stopped.end == .stopped)
        async let second = poller.startPollingSource(withId: "src_1", timeout: .seconds(10))
        #expect(await eventually { reader.heldCount == 2 })
        reader.release()
        reader.release()
        #expect(await second.source?.status == .failed)
    }

    @Test("a cancelled caller returns, and polling continues for the others")
    func cancelledCaller() async {
        let reader = ScriptedReader([.held("pending"), .status("chargeable")])
        let poller = SourcePoller(reader: reader, clock: TestClock())
        let leaver = Task {
            await poller.startPollingSource(withId: "src_1", timeout: .seconds(10))
        }
        #expect(await eventually { reader.heldCount == 1 })
        let callbacks = CallbackRecorder()
        poller.startPollingSource(withId: "src_1", timeout: .seconds(10)) {
            callbacks.record($0, $1)
        }
        leaver.cancel()
        #expect(await leaver.value.end == .stopped)
        reader.release()
        #expect(await eventually { callbacks.sources == ["chargeable"] })
    }

    @Test("cancelling the last caller cancels the request in flight")
    func lastCallerCancelled() async throws {
        try await ScriptedServer.withRunning(.bytes("", then: .silence)) { server in
            let client = StripeClient(
                configuration: StripeClientConfiguration(
                    key: StripeKey("sk_test_0123456789abcdef"),
                    baseURL: server.address
                )
            )
            let poller = SourcePoller(client: client)
            let task = Task {
                await poller.startPollingSource(withId: "src_1", timeout: .seconds(300))
            }
            task.cancel()
            #expect(await task.value.end == .stopped)
        }
    }

    @Test("pausing skips the next poll and resuming polls at once, one request at a time")
    func pause() async {
        let clock = TestClock(advancesOnSleep: false)
        let reader = ScriptedReader([.status("pending"), .held("pending"), .status("chargeable")])
        let poller = SourcePoller(reader: reader, clock: clock)
        async let result = poller.startPollingSource(withId: "src_1", timeout: .seconds(60))
        #expect(await eventually { clock.sleeperCount == 1 })
        poller.pausePolling()
        // The sleep now lasts until the timeout, not until the end of the delay.
        #expect(await eventually { clock.slept.last == .seconds(60) })
        clock.advance(by: .seconds(30))
        #expect(reader.requests.count == 1)
        poller.resumePolling()
        #expect(await eventually { reader.heldCount == 1 })
        // A defect of the SDK: resuming during a request started a second one.
        poller.pausePolling()
        poller.resumePolling()
        reader.release()
        #expect(await eventually { clock.sleeperCount == 1 })
        #expect(reader.requests.count == 2)
        clock.advance(by: .seconds(1.5))
        #expect(await result.source?.status == .chargeable)
    }

    @Test("a paused source is polled once more when the timeout passes")
    func timeoutWhilePaused() async {
        let clock = TestClock(advancesOnSleep: false)
        let reader = ScriptedReader([.status("pending")])
        let poller = SourcePoller(reader: reader, clock: clock)
        poller.pausePolling()
        async let result = poller.startPollingSource(withId: "src_1", timeout: .seconds(60))
        #expect(await eventually { clock.sleeperCount == 1 })
        #expect(reader.requests.isEmpty)
        clock.advance(by: .seconds(60))
        #expect(await result.end == .timedOut)
        #expect(reader.requests.count == 1)
    }
}
