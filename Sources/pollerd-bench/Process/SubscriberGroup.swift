import Histogram
import NIOCore
import NIOPosix
import PollerIdentity
import Synchronization

/// The subscribers of one process of a ``SubscriberProcesses``, each with a subscription to one source.
///
/// Each event must be delivered to each of its subscribers once and in order. The first `seq` of a subscriber is 1, and
/// each later one is the next.
final class SubscriberGroup: Sendable {
    /// The numbers of wrongly delivered events.
    struct Faults: Sendable {
        /// Events of a source without a subscription.
        var foreign = 0
        /// Events received before, or before a later one.
        var repeated = 0
        /// Events that were never received, although a later one was or the load has ended.
        var missing = 0
    }

    /// The state behind the lock.
    private struct State: Sendable {
        var caughtUp = 0
        /// Event frames since the last request.
        var frames = 0
        /// The time from the decision to record an event to its frame, in µs.
        var toFrameUs = Histogram<UInt64>(numberOfSignificantValueDigits: .two)
        /// The delay of this process's timers, in µs, which is part of the time above.
        var lateUs = Histogram<UInt64>(numberOfSignificantValueDigits: .two)
        var unexpected: String?
        /// The last `seq` received by each subscriber.
        var lastSeqs: [Int]
        var faults = Faults()
    }

    /// The maximum of concurrent connects, which a gateway's backlog allows.
    private static let connecting = 64
    /// The interval between two checks of the timer delay.
    private static let timer = TimeAmount.milliseconds(10)

    private let watches: [WatchKey]
    private let perSocket: Int
    private let address: String?
    private let state: Mutex<State>

    /// Creates a subscriber for each watch, with a number of them per socket.
    init(_ watches: [WatchKey], perSocket: Int, address: String?) {
        self.watches = watches
        self.perSocket = perSocket
        self.address = address
        state = Mutex(State(lastSeqs: [Int](repeating: 0, count: watches.count)))
        for eventLoop in MultiThreadedEventLoopGroup.singleton.makeIterator() {
            eventLoop.execute { self.measureTimer(eventLoop) }
        }
    }

    /// Connects all sockets, with the ports in rotation.
    func enter(ports: [Int]) async {
        do {
            try await withThrowingTaskGroup(of: Void.self) { group in
                let starts = stride(from: 0, to: watches.count, by: perSocket)
                for (socket, start) in starts.enumerated() {
                    if socket >= Self.connecting { try await group.next() }
                    let part = Array(watches[start..<min(start + perSocket, watches.count)])
                    // Connecting waits for the gateway. The group ends with the last connection.
                    group.addTask {
                        _ = try await LiveClient.connect(
                            port: ports[socket % ports.count],
                            by: self.address,
                            to: part,
                            from: "now"
                        ) { self.receive($0, start) }
                    }
                }
                try await group.waitForAll()
            }
        } catch {
            state.withLock { $0.unexpected = $0.unexpected ?? "\(error)" }
        }
    }

    /// The number of caught-up subscriptions, and the first unexpected message.
    var progress: (caughtUp: Int, unexpected: String?) {
        state.withLock { ($0.caughtUp, $0.unexpected) }
    }

    /// Returns the events received since the last call.
    func received() -> ReceivedFrames {
        state.withLock { state in
            defer {
                state.frames = 0
                state.toFrameUs.reset()
                state.lateUs.reset()
            }
            return ReceivedFrames(
                frames: state.frames,
                toFrameUs: ReceivedFrames.counts(state.toFrameUs),
                lateUs: ReceivedFrames.counts(state.lateUs)
            )
        }
    }

    /// Returns the delivery errors after the load has ended.
    ///
    /// `lastSeqs` is the last `seq` of each source with events.
    func faults(_ lastSeqs: [String: Int]) -> Faults {
        state.withLock { state in
            var faults = state.faults
            for (watch, lastSeq) in zip(watches, state.lastSeqs) {
                faults.missing += max(0, (lastSeqs[watch.source.description] ?? 0) - lastSeq)
            }
            return faults
        }
    }

    private func receive(_ notification: LiveClient.Notification, _ first: Int) {
        switch notification {
        case .caughtUp: state.withLock { $0.caughtUp += 1 }
        case .event(let message): receive(message, first)
        case .unexpected(let text):
            state.withLock { $0.unexpected = $0.unexpected ?? text }
        }
    }

    private func receive(_ message: LiveClient.EventMessage, _ first: Int) {
        let now = NIODeadline.now().uptimeNanoseconds
        guard let seq = message.seq, let subscription = message.subscription,
            let made = message.stampNs,
            subscription < perSocket, first + subscription < watches.count
        else { return state.withLock { $0.unexpected = $0.unexpected ?? message.text } }
        let listener = first + subscription
        let isOwn = message.source == watches[listener].source.description
        state.withLock { state in
            state.frames += 1
            _ = state.toFrameUs.record((now > made ? now - made : 0) / 1000)
            guard isOwn else {
                state.faults.foreign += 1
                return
            }
            let last = state.lastSeqs[listener]
            if seq <= last { state.faults.repeated += 1 }
            if seq > last + 1 { state.faults.missing += seq - last - 1 }
            state.lastSeqs[listener] = max(seq, last)
        }
    }

    /// Measures the delay of a timer of this loop, repeatedly.
    private func measureTimer(_ eventLoop: any EventLoop) {
        let due = NIODeadline.now() + Self.timer
        eventLoop.scheduleTask(deadline: due) {
            let late = max(0, (NIODeadline.now() - due).nanoseconds)
            self.state.withLock { _ = $0.lateUs.record(UInt64(late) / 1000) }
            self.measureTimer(eventLoop)
        }
    }
}

/// The events that one process received in a span, in the form that is sent to the measuring program.
///
/// *Shape*: `17 1200:4,1300:13 90:2`: the number of frames, then the number of frames per latency in µs, then the timer
/// delays in the same form.
struct ReceivedFrames: Sendable {
    var frames = 0
    var toFrameUs: [UInt64: UInt64] = [:]
    var lateUs: [UInt64: UInt64] = [:]

    static func counts(_ histogram: Histogram<UInt64>) -> [UInt64: UInt64] {
        histogram.recordedValues().reduce(into: [:]) { $0[$1.value, default: 0] += $1.count }
    }

    /// Adds the counts of another process.
    mutating func add(_ other: ReceivedFrames) {
        frames += other.frames
        toFrameUs.merge(other.toFrameUs, uniquingKeysWith: +)
        lateUs.merge(other.lateUs, uniquingKeysWith: +)
    }

    /// Returns the percentiles of these counts.
    static func latency(_ counts: [UInt64: UInt64]) -> BenchReport.Latency {
        var histogram = Histogram<UInt64>(numberOfSignificantValueDigits: .two)
        for (value, count) in counts { _ = histogram.record(value, count: count) }
        return histogram.latency
    }
}

extension ReceivedFrames {
    /// The counts as a line.
    var line: String {
        func text(_ counts: [UInt64: UInt64]) -> String {
            counts.map { "\($0):\($1)" }.joined(separator: ",")
        }
        return "\(frames) \(text(toFrameUs)) \(text(lateUs))"
    }

    /// Reads such a line, or returns `nil` for any other.
    init?(line: String) {
        let parts = line.split(separator: " ", omittingEmptySubsequences: false)
        guard parts.count == 3, let frames = Int(parts[0]) else { return nil }
        func counts(_ text: Substring) -> [UInt64: UInt64] {
            text.split(separator: ",").reduce(into: [:]) { counts, pair in
                let numbers = pair.split(separator: ":").compactMap { UInt64($0) }
                if numbers.count == 2 { counts[numbers[0]] = numbers[1] }
            }
        }
        self.frames = frames
        toFrameUs = counts(parts[1])
        lateUs = counts(parts[2])
    }
}
