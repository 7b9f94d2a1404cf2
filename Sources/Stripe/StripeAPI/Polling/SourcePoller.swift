import Synchronization

/// Polls Sources until they are no longer pending, like the mobile SDKs in an app.
///
/// ```swift
/// let poller = SourcePoller(client: client)
/// let result = await poller.startPollingSource(
///     withId: source.id, clientSecret: source.clientSecret, timeout: .seconds(10))
/// if result.source?.status == .chargeable { … }
/// ```
///
/// It is a class because all callers share its runs: a Source is polled once regardless of the number of callers. A
/// second call for the same ID joins the first and gets its result, including its timeout. (The SDK's documentation
/// says that a second call does nothing; its code drops the first call's completion.)
///
/// *Order*: the polls of one Source never overlap. *Limits*: see
/// ``startPollingSource(withId:clientSecret:timeout:)``. *Source*: `STPSourcePoller` of stripe-ios, deprecated since
/// 10.2.0 in favour of polling your own backend; ``WatchSourceReader`` does that.
public final class SourcePoller: Sendable {
    /// A callback with the latest Source and, if polling failed, an error; at least one of them is set.
    public typealias Completion = @Sendable (Source?, StripeError?) -> Void

    /// The minimum request timeout, so that the first and the last poll can complete.
    private static let pollTimeoutMin = Duration.seconds(5)
    /// The maximum request timeout, without the time spent waiting for a change.
    private static let pollTimeoutMax = Duration.seconds(30)

    private let reader: any SourceReader
    private let timer: PollTimer
    private let makeJitter: @Sendable () -> Double
    private let pauseSwitch = PauseSwitch()
    private let runs = Mutex(PollRuns())

    /// Creates a poller that uses any reader.
    ///
    /// - Parameters:
    ///   - reader: The source of the data.
    ///   - clock: The clock for delays and the timeout.
    ///   - makeJitter: Returns a random number from 0 up to 1 for the delay after a 429; the default is random.
    public init(
        reader: any SourceReader,
        clock: any Clock<Duration> = ContinuousClock(),
        makeJitter: (@Sendable () -> Double)? = nil
    ) {
        self.reader = reader
        timer = PollTimer(clock)
        self.makeJitter = makeJitter ?? { Double.random(in: 0..<1) }
    }

    /// Creates a poller that reads from Stripe.
    public convenience init(client: StripeClient) {
        self.init(reader: StripeSourceReader(client: client))
    }

    /// Polls until the Source is no longer pending, the timeout passes or polling fails permanently.
    ///
    /// The first poll is immediate; the next ones follow every 1.5 s, less often after failures. Five consecutive
    /// failures end the run. A cancelled caller returns ``SourcePollEnd/stopped``, and polling continues for the
    /// other callers.
    ///
    /// - Parameters:
    ///   - id: `src_…`.
    ///   - clientSecret: Required when the reader has a publishable key.
    ///   - timeout: At most 300 s, including pauses; 10 s is usual. At least one poll is made.
    /// - Returns: The latest Source and the reason for the end.
    public func startPollingSource(
        withId id: String,
        clientSecret: ClientSecret? = nil,
        timeout: Duration
    ) async -> SourcePollResult {
        let token = runs.withLock { $0.makeToken() }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                join(id, clientSecret, timeout, token, .continuation(continuation))
                // A cancellation before this point did not find the waiter.
                if Task.isCancelled { leave(id, token) }
            }
        } onCancel: {
            leave(id, token)
        }
    }

    /// Polls like the async variant and calls `completion` once, unless ``stopPollingSource(withId:)`` is called
    /// first.
    ///
    /// The completion may run on any thread.
    ///
    /// - Parameters:
    ///   - id: `src_…`.
    ///   - clientSecret: Required when the reader has a publishable key.
    ///   - timeout: At most 300 s; see ``startPollingSource(withId:clientSecret:timeout:)``.
    ///   - completion: Receives the latest Source, and the error if polling failed.
    public func startPollingSource(
        withId id: String,
        clientSecret: ClientSecret? = nil,
        timeout: Duration,
        completion: @escaping Completion
    ) {
        let token = runs.withLock { $0.makeToken() }
        join(id, clientSecret, timeout, token, .completion(completion))
    }

    /// Stops polling a Source and cancels a request in flight.
    ///
    /// Callbacks are not called. Async callers get ``SourcePollEnd/stopped`` with the latest Source.
    public func stopPollingSource(withId id: String) {
        guard let run = runs.withLock({ $0.remove(id) }) else { return }
        run.task?.cancel()
        for waiter in run.waiters.values { waiter.stop(run.latest) }
    }

    /// Pauses all polling, for example when an app enters the background.
    ///
    /// A request in flight completes and no new one starts. Timeouts continue: a run whose timeout passes makes its
    /// last poll and ends.
    public func pausePolling() {
        pauseSwitch.setPaused(true)
    }

    /// Resumes all polling with an immediate poll of each Source.
    public func resumePolling() {
        pauseSwitch.setPaused(false)
    }

    private func join(
        _ id: String,
        _ clientSecret: ClientSecret?,
        _ timeout: Duration,
        _ token: Int,
        _ waiter: PollWaiter
    ) {
        runs.withLock { runs in
            guard runs.add(waiter, token, to: id) else { return }
            // An unstructured task, because the run outlives the caller that started it while others wait, and a
            // callback has no task. Its lifetime is limited by the timeout.
            let task = Task { await self.run(id, clientSecret, timeout, started: token) }
            runs.setTask(of: id, task)
        }
    }

    private func leave(_ id: String, _ token: Int) {
        let (waiter, latest, idle) = runs.withLock { $0.removeWaiter(id, token) }
        idle?.cancel()
        waiter?.stop(latest)
    }

    private func run(
        _ id: String,
        _ clientSecret: ClientSecret?,
        _ timeout: Duration,
        started: Int
    ) async {
        let start = timer.now()
        var state = SourcePollState(timeout: timeout)
        let deadline = start + state.remaining(at: .zero)
        var latest: SourceSnapshot?
        await pauseSwitch.wait(.zero, until: deadline, timer)
        while !Task.isCancelled {
            let pollStart = timer.now()
            let request = request(id, clientSecret, latest, remaining: deadline - pollStart)
            let answer = await poll(request)
            var failure: StripeError?
            switch answer {
            case .snapshot(let snapshot):
                latest = SourceSnapshot(
                    source: snapshot.source ?? latest?.source,
                    seq: snapshot.seq
                )
                runs.withLock { $0.record(latest?.source, id, started) }
            case .failed(let error): failure = error
            }
            let now = timer.now()
            let step = state.step(
                after: answer,
                elapsed: now - start,
                duration: now - pollStart,
                jitter: makeJitter()
            )
            switch step {
            case .poll(let delay): await pauseSwitch.wait(delay, until: deadline, timer)
            case .end(let end):
                finish(
                    id,
                    started,
                    SourcePollResult(source: latest?.source, end: end, error: failure)
                )
                return
            }
        }
    }

    private func request(
        _ id: String,
        _ clientSecret: ClientSecret?,
        _ latest: SourceSnapshot?,
        remaining: Duration
    ) -> SourceReadRequest {
        SourceReadRequest(
            id: id,
            clientSecret: clientSecret,
            afterSeq: latest?.seq,
            wait: max(remaining, .zero),
            timeout: min(max(remaining, Self.pollTimeoutMin), Self.pollTimeoutMax)
        )
    }

    private func poll(_ request: SourceReadRequest) async -> SourcePollState.Answer {
        do throws(StripeError) {
            return .snapshot(try await reader.read(request))
        } catch {
            return .failed(error)
        }
    }

    private func finish(_ id: String, _ started: Int, _ result: SourcePollResult) {
        let waiters = runs.withLock { $0.finish(id, started) }
        for waiter in waiters { waiter.resume(result) }
    }
}

/// The result of polling.
public struct SourcePollResult: Hashable, Sendable {
    /// The latest Source; `nil` when none was read.
    public let source: Source?
    /// The reason for the end.
    public let end: SourcePollEnd
    /// The error that ended polling or, after a timeout, the error of the last poll.
    ///
    /// An error does not mean that the payment failed. Show the customer "received, awaiting payment".
    public let error: StripeError?

    /// Creates a result.
    public init(source: Source?, end: SourcePollEnd, error: StripeError? = nil) {
        self.source = source
        self.end = end
        self.error = error
    }
}

/// The reason why a ``SourcePoller`` stopped polling.
public enum SourcePollEnd: Hashable, Sendable {
    /// The Source is no longer pending; check its status.
    case leftPending
    /// The timeout passed; the Source is still pending as far as known.
    case timedOut
    /// Polling failed permanently. The payment still counts as pending.
    case failed
    /// The cluster no longer polls the Source because its watch expired or was cancelled; treat it as pending.
    case closed(reason: String)
    /// Polling was stopped, or the calling task was cancelled.
    case stopped
}
