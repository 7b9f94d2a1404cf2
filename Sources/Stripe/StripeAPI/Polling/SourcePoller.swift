import Synchronization

/// Follows Sources until they are no longer pending, as the SDKs did in an app.
///
/// ```swift
/// let poller = SourcePoller(client: client)
/// let result = await poller.startPollingSource(
///     withId: source.id, clientSecret: source.clientSecret, timeout: .seconds(10))
/// if result.source?.status == .chargeable { … }
/// ```
///
/// A class, because all callers share its runs: a Source is polled once however many ask for it. A second call for
/// the same id joins the first and gets its result, its timeout included. (The SDK's documentation says that a
/// second call does nothing; its code forgets the first one's completion.)
///
/// *Order*: looks at one Source follow each other; there are never two at a time. *Limits*: see
/// ``startPollingSource(withId:clientSecret:timeout:)``. *Source*: `STPSourcePoller` of stripe-ios, deprecated there
/// since 10.2.0 in favour of polling one's own backend: that is ``WatchSourceReader``.
public final class SourcePoller: Sendable {
    /// What a callback gets: the last Source seen, and an error if polling failed; never neither.
    public typealias Completion = @Sendable (Source?, StripeError?) -> Void

    /// The longest a look takes when the time is up: the first and the last look deserve an answer.
    private static let pollTimeoutMin = Duration.seconds(5)
    /// The longest any look takes, waiting for news aside.
    private static let pollTimeoutMax = Duration.seconds(30)

    private let reader: any SourceReader
    private let timer: PollTimer
    private let makeJitter: @Sendable () -> Double
    private let pauseSwitch = PauseSwitch()
    private let runs = Mutex(PollRuns())

    /// Polls with any reader.
    ///
    /// - Parameters:
    ///   - reader: Where to look.
    ///   - clock: Measures the pauses and the timeout.
    ///   - makeJitter: A number from 0 up to 1 for the pause after a 429; random when nil.
    public init(
        reader: any SourceReader,
        clock: any Clock<Duration> = ContinuousClock(),
        makeJitter: (@Sendable () -> Double)? = nil
    ) {
        self.reader = reader
        timer = PollTimer(clock)
        self.makeJitter = makeJitter ?? { Double.random(in: 0..<1) }
    }

    /// Polls Stripe.
    public convenience init(client: StripeClient) {
        self.init(reader: StripeSourceReader(client: client))
    }

    /// Polls until the Source is no longer pending, the time is up or looking fails for good.
    ///
    /// The first look is at once, the next each 1.5 s, less often after failures; five failures in a row end it.
    /// A cancelled task leaves with ``SourcePollEnd/stopped``, and the polling goes on while others wait for it.
    ///
    /// - Parameters:
    ///   - id: `src_…`.
    ///   - clientSecret: Required when the reader has a publishable key.
    ///   - timeout: At most 300 s, counted through pauses; 10 s is usual. At least one look is made.
    /// - Returns: The last Source seen and why it ended.
    public func startPollingSource(
        withId id: String,
        clientSecret: ClientSecret? = nil,
        timeout: Duration
    ) async -> SourcePollResult {
        let token = runs.withLock { $0.makeToken() }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                join(id, clientSecret, timeout, token, .continuation(continuation))
                // A cancellation that came before the continuation was there has not found it.
                if Task.isCancelled { leave(id, token) }
            }
        } onCancel: {
            leave(id, token)
        }
    }

    /// The same with a callback, called once and from any thread, unless ``stopPollingSource(withId:)`` comes first.
    ///
    /// - Parameters:
    ///   - id: `src_…`.
    ///   - clientSecret: Required when the reader has a publishable key.
    ///   - timeout: At most 300 s; see ``startPollingSource(withId:clientSecret:timeout:)``.
    ///   - completion: Gets the last Source seen, and the error if polling failed.
    public func startPollingSource(
        withId id: String,
        clientSecret: ClientSecret? = nil,
        timeout: Duration,
        completion: @escaping Completion
    ) {
        let token = runs.withLock { $0.makeToken() }
        join(id, clientSecret, timeout, token, .completion(completion))
    }

    /// Stops polling a Source: a look in flight is cancelled, callbacks are not called, and those that await get
    /// ``SourcePollEnd/stopped`` with the last Source seen.
    public func stopPollingSource(withId id: String) {
        guard let run = runs.withLock({ $0.remove(id) }) else { return }
        run.task?.cancel()
        for waiter in run.waiters.values { waiter.stop(run.latest) }
    }

    /// Pauses all polling, as when an app goes to the background: looks in flight end, no new one begins.
    ///
    /// The time goes on: a run whose timeout passes makes its last look and ends.
    public func pausePolling() {
        pauseSwitch.setPaused(true)
    }

    /// Goes on with all polling, at once with a look each.
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
            // Not a child of anybody's task: it outlives the caller that began it while others wait, and a
            // callback has no task at all. It ends by itself: its timeout is bounded.
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

/// What polling came to.
public struct SourcePollResult: Hashable, Sendable {
    /// The last Source seen; nil when there was none.
    public let source: Source?
    /// Why it ended.
    public let end: SourcePollEnd
    /// The failure it ended with, or, after a timeout, that of the last look.
    ///
    /// An error is never a failed payment: whoever sees one tells the customer "received, awaiting payment".
    public let error: StripeError?

    /// Describes a result.
    public init(source: Source?, end: SourcePollEnd, error: StripeError? = nil) {
        self.source = source
        self.end = end
        self.error = error
    }
}

/// Why a ``SourcePoller`` stopped looking.
public enum SourcePollEnd: Hashable, Sendable {
    /// The Source is no longer pending; look at its status.
    case leftPending
    /// The time was up: the Source is as far as anybody knows still pending.
    case timedOut
    /// Looking failed for good; this says nothing about the payment, which counts as pending.
    case failed
    /// The cluster looks at the Source no more, as its watch expired or was cancelled; treat as pending.
    case closed(reason: String)
    /// It was told to, or the calling task was cancelled.
    case stopped
}
