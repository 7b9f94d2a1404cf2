import Histogram
import NIOCore
import NIOPosix
import Poller
import PollerIdentity
import Synchronization

/// The listeners of one process of a ``Crowd``, each a subscription to one source, and what they have heard.
///
/// Each event must be told to each of its listeners once and in order: the `seq` of the first that a listener hears is
/// 1, and that of each other is the next.
final class CrowdListeners: Sendable {
    /// Mistakes, by how many events were told wrongly.
    struct Faults: Sendable {
        /// Of a source that the subscription is not to.
        var foreign = 0
        /// Told before, or before one that came earlier.
        var repeated = 0
        /// Not told although later ones were, or ones at the end.
        var missing = 0

        var total: Int { foreign + repeated + missing }
    }

    /// What the lock guards.
    private struct State: Sendable {
        var caughtUp = 0
        /// Frames that tell an event, since they were last asked for.
        var frames = 0
        /// From the decision to record an event to the frame, in µs.
        var toFrameUs = Histogram<UInt64>(numberOfSignificantValueDigits: .two)
        /// How late this process's own timers are, in µs: as much of the above is its own.
        var lateUs = Histogram<UInt64>(numberOfSignificantValueDigits: .two)
        var unexpected: String?
        /// The last `seq` that each listener has heard.
        var heard: [Int]
        var faults = Faults()
    }

    /// Connections that are being made at once: what a gateway's backlog takes.
    private static let connecting = 64
    /// Between two looks at how late a timer is.
    private static let timer = TimeAmount.milliseconds(10)

    private let watches: [WatchKey]
    private let perSocket: Int
    private let address: String?
    private let state: Mutex<State>

    /// A listener for each of these, so many on a socket.
    init(_ watches: [WatchKey], perSocket: Int, address: String?) {
        self.watches = watches
        self.perSocket = perSocket
        self.address = address
        state = Mutex(State(heard: [Int](repeating: 0, count: watches.count)))
        for eventLoop in MultiThreadedEventLoopGroup.singleton.makeIterator() {
            eventLoop.execute { self.look(eventLoop) }
        }
    }

    /// Connects all sockets, by turns to these ports.
    func enter(ports: [Int]) async {
        do {
            try await withThrowingTaskGroup(of: Void.self) { group in
                let starts = stride(from: 0, to: watches.count, by: perSocket)
                for (socket, start) in starts.enumerated() {
                    if socket >= Self.connecting { try await group.next() }
                    let part = Array(watches[start..<min(start + perSocket, watches.count)])
                    // Connecting waits for the other side; the group's end is that of the last one.
                    group.addTask {
                        _ = try await LiveClient.connect(
                            port: ports[socket % ports.count],
                            by: self.address,
                            to: part,
                            from: "now"
                        ) { self.hear($0, start) }
                    }
                }
                try await group.waitForAll()
            }
        } catch {
            state.withLock { $0.unexpected = $0.unexpected ?? "\(error)" }
        }
    }

    /// How many are told what happens, and the first message that nobody asked for.
    var progress: (caughtUp: Int, unexpected: String?) {
        state.withLock { ($0.caughtUp, $0.unexpected) }
    }

    /// What was heard since this was last asked for.
    func news() -> CrowdNews {
        state.withLock { state in
            defer {
                state.frames = 0
                state.toFrameUs.reset()
                state.lateUs.reset()
            }
            return CrowdNews(
                frames: state.frames,
                toFrameUs: CrowdNews.counts(state.toFrameUs),
                lateUs: CrowdNews.counts(state.lateUs)
            )
        }
    }

    /// The mistakes, once nothing more happens; `told` is the last `seq` of each source that has events.
    func faults(_ told: [String: Int]) -> Faults {
        state.withLock { state in
            var faults = state.faults
            for (watch, heard) in zip(watches, state.heard) {
                faults.missing += max(0, (told[watch.source.description] ?? 0) - heard)
            }
            return faults
        }
    }

    private func hear(_ news: LiveClient.News, _ first: Int) {
        switch news {
        case .caughtUp: state.withLock { $0.caughtUp += 1 }
        case .event(let told): hear(told, first)
        case .unexpected(let text):
            state.withLock { $0.unexpected = $0.unexpected ?? text }
        }
    }

    private func hear(_ told: LiveClient.Told, _ first: Int) {
        let now = NIODeadline.now().uptimeNanoseconds
        guard let seq = told.seq, let subscription = told.subscription, let made = told.stampNs,
            subscription < perSocket, first + subscription < watches.count
        else { return state.withLock { $0.unexpected = $0.unexpected ?? told.text } }
        let listener = first + subscription
        let isOwn = told.source == watches[listener].source.description
        state.withLock { state in
            state.frames += 1
            _ = state.toFrameUs.record((now > made ? now - made : 0) / 1000)
            guard isOwn else {
                state.faults.foreign += 1
                return
            }
            let last = state.heard[listener]
            if seq <= last { state.faults.repeated += 1 }
            if seq > last + 1 { state.faults.missing += seq - last - 1 }
            state.heard[listener] = max(seq, last)
        }
    }

    /// Looks how late a timer of this loop is, again and again.
    private func look(_ eventLoop: any EventLoop) {
        let due = NIODeadline.now() + Self.timer
        eventLoop.scheduleTask(deadline: due) {
            let late = max(0, (NIODeadline.now() - due).nanoseconds)
            self.state.withLock { _ = $0.lateUs.record(UInt64(late) / 1000) }
            self.look(eventLoop)
        }
    }
}

/// What the listeners of one process have heard over a span, as it goes from there to the measuring program.
///
/// *Shape*: `17 1200:4,1300:13 90:2`: frames, and how many of them took so many µs; then how late timers were.
struct CrowdNews: Sendable {
    var frames = 0
    var toFrameUs: [UInt64: UInt64] = [:]
    var lateUs: [UInt64: UInt64] = [:]

    /// What a histogram has, by value.
    static func counts(_ histogram: Histogram<UInt64>) -> [UInt64: UInt64] {
        histogram.recordedValues().reduce(into: [:]) { $0[$1.value, default: 0] += $1.count }
    }

    /// Adds what another process has heard.
    mutating func add(_ other: CrowdNews) {
        frames += other.frames
        toFrameUs.merge(other.toFrameUs, uniquingKeysWith: +)
        lateUs.merge(other.lateUs, uniquingKeysWith: +)
    }

    /// The percentiles of such counts.
    static func latency(_ counts: [UInt64: UInt64]) -> BenchReport.Latency {
        var histogram = Histogram<UInt64>(numberOfSignificantValueDigits: .two)
        for (value, count) in counts { _ = histogram.record(value, count: count) }
        return histogram.latency
    }
}

extension CrowdNews {
    /// The line that says so.
    var line: String {
        func text(_ counts: [UInt64: UInt64]) -> String {
            counts.map { "\($0):\($1)" }.joined(separator: ",")
        }
        return "\(frames) \(text(toFrameUs)) \(text(lateUs))"
    }

    /// Reads such a line; nil for any other.
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
