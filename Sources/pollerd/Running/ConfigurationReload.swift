import Foundation
import Logging
import Metrics
import Poller
import PollerIdentity
import PollerQueue
import ServiceLifecycle
import UnixSignals

/// Where a running process learns of another configuration, and what it has begun with.
struct ConfigurationFeed: Sendable {
    /// What settings become in this process before they are used.
    typealias Adaptation = @Sendable (inout Settings) throws(ConfigurationError) -> Void

    let source: ConfigurationSource
    /// The one that the process was started with.
    let configuration: Configuration
    /// The files that was read from.
    let files: Set<String>
    /// How they stood then: a start may wait for its store for long, and they may change meanwhile.
    let marks: FileMarks
    /// SIGHUP: somebody asks for a look now.
    let hangups: UnixSignalsSequence
    let adapt: Adaptation
}

/// Reads the configuration again, on SIGHUP and when one of its files has changed, and follows it: all or nothing.
///
/// *Problem.* A key that is rolled, an upstream that moves, an endpoint more: each was a restart of every process. A
/// change that is followed in part, or a typing mistake that stops what works, would be worse.
///
/// *Approach.* The files are looked at every second, without being read; links are followed (``FileMarks``). What stands
/// otherwise is read once two looks have seen it alike, since a file that is being written ends anywhere, and half of one
/// may well be a configuration without accounts. Then everything is read, parsed and checked as a start does it. With any
/// mistake nothing changes, and it is told once; the next look that finds other files tries again. Without one, all that
/// can change does in one step (``NodeChange``), and what cannot is named, at this reading and each that follows.
///
/// *Rejected*: notices of the system (inotify, kqueue), which tell of links and of mounted folders each in another way and
/// do not at all on some mounts; a look a second at a handful of files costs nothing.
///
/// *What a crash leaves*: nothing: the next start reads the files.
struct ConfigurationReload: Service {
    /// How often the files are looked at; a change is followed after two to three of these.
    private static let pace = Duration.seconds(1)
    /// Looks until what could not be used is read again, though its files stand as they did.
    private static let againAfter = 5
    /// Configurations that are remembered while the store is away.
    private static let behindMax = 32
    /// Mistakes told of one reading; a file of another sort would have hundreds.
    private static let mistakesMax = 20

    private let feed: ConfigurationFeed
    private let change: NodeChange
    private let clock: ContinuousClock
    private let logger: Logger

    init(_ feed: ConfigurationFeed, _ change: NodeChange, clock: ContinuousClock, logger: Logger) {
        self.feed = feed
        self.change = change
        self.clock = clock
        self.logger = logger
    }

    /// Why to look.
    private enum Cause {
        case hangup
        case tick
    }

    /// What is known between two looks.
    private struct State {
        /// The configuration that was read last without a mistake.
        var configuration: Configuration
        var files: Set<String>
        /// How the files stood when they were read, and at the last look where that was otherwise.
        var read: FileMarks
        var seen: FileMarks?
        /// What has held since the store was in line with what does: it may be so in part with each of them.
        var behind: [Settings] = []
        /// What was wrong with the last reading, and how many looks ago that was.
        var mistakes: [String] = []
        var looks = 0
        /// Why the store does not follow, where that does not pass by itself.
        var refusal: String?

        /// What a person must mend before all holds.
        var mistakeCount: Int { mistakes.count + (refusal == nil ? 0 : 1) }
    }

    /// Follows until shut down or cancelled.
    func run() async throws {
        ReloadMetrics.holds()
        ReloadMetrics.found(mistakes: 0)
        await cancelWhenGracefulShutdown {
            // Of many requests at once one is enough: each look finds everything.
            let (causes, cause) = AsyncStream.makeStream(
                of: Cause.self,
                bufferingPolicy: .bufferingNewest(2)
            )
            await withTaskGroup(of: Void.self) { group in
                // Both are cancelled with this.
                group.addTask { [feed] in
                    for await _ in feed.hangups { cause.yield(.hangup) }
                }
                group.addTask { [clock] in
                    while !Task.isCancelled {
                        // Cancelled: the loop's condition ends it.
                        try? await clock.sleep(for: Self.pace)
                        cause.yield(.tick)
                    }
                    cause.finish()
                }
                await follow(causes)
            }
        }
    }

    private func follow(_ causes: AsyncStream<Cause>) async {
        var state = State(
            configuration: feed.configuration,
            files: feed.files,
            read: feed.marks
        )
        for await cause in causes {
            switch cause {
            case .hangup:
                logger.notice("SIGHUP: configuration is read again")
                reload(&state)
            case .tick: look(&state)
            }
            if !state.behind.isEmpty { await align(&state) }
        }
    }

    /// Looks whether files have changed, and have been written to their end.
    private func look(_ state: inout State) {
        let marks = FileMarks(of: state.files)
        guard marks != state.read else {
            state.seen = nil
            state.looks += 1
            // What is wrong may be in what is not followed, such as half a certificate.
            if !state.mistakes.isEmpty, state.looks >= Self.againAfter {
                reload(&state, isAgain: true)
            }
            return
        }
        guard marks == state.seen else {
            state.seen = marks
            return
        }
        logger.notice(
            "files of the configuration have changed: it is read again",
            metadata: ["files": "\(marks.changes(since: state.read).joined(separator: ", "))"]
        )
        reload(&state)
    }

    /// Reads everything; `isAgain` when nobody asked and no file has changed, so that the same mistakes are not news.
    private func reload(_ state: inout State, isAgain: Bool = false) {
        // Before they are read: what changes meanwhile is seen by the next look.
        let before = FileMarks(of: state.files)
        let reading = feed.source.read()
        var new = state.files == reading.files ? before : FileMarks(of: reading.files)
        do {
            let configuration = try reading.configuration.get()
            let mistakes = configuration.mistakes
            guard mistakes.isEmpty else { throw Mistakes(all: mistakes) }
            try follow(configuration, &state)
            state.files = reading.files
            state.mistakes = []
            // Whether the store takes this one is seen next.
            state.refusal = nil
            ReloadMetrics.found(mistakes: 0)
        } catch {
            // What a new file names and is not there yet may come; what the old one named is still in use.
            state.files.formUnion(reading.files)
            new = state.files == reading.files ? new : FileMarks(of: state.files)
            let all = (error as? Mistakes)?.all ?? [error as? ConfigurationError].compactMap(\.self)
            let told = all.map { "\($0)" }
            if !isAgain || told != state.mistakes {
                ReloadMetrics.count("refused")
                tell(all)
            }
            state.mistakes = told
            ReloadMetrics.found(mistakes: state.mistakeCount)
        }
        state.read = new
        state.seen = nil
        state.looks = 0
    }

    /// Makes a configuration without mistakes hold.
    private func follow(
        _ configuration: Configuration,
        _ state: inout State
    ) throws(ConfigurationError) {
        var settings = try Settings(configuration)
        try feed.adapt(&settings)
        let apply = try change.prepare(settings)
        let former = change.node.live.now.settings
        apply()
        state.behind = state.behind.suffix(Self.behindMax - 1) + [former]

        let difference = ConfigurationDifference(from: state.configuration, to: configuration)
        let waiting = ConfigurationDifference(from: feed.configuration, to: configuration).atRestart
        state.configuration = configuration
        ReloadMetrics.count(difference.changes.isEmpty ? "same" : "changed")
        ReloadMetrics.holds(waiting: waiting.count)
        logger.notice(
            "configuration read again",
            metadata: ["changes": "\(difference.atOnce.map(\.line).joined(separator: "; "))"]
        )
        for option in waiting {
            logger.warning("an option needs a restart", metadata: ["option": "\(option.name)"])
        }
        for name in configuration.unknown {
            logger.warning("unknown option ignored", metadata: ["option": "\(name)"])
        }
        for warning in configuration.warnings {
            logger.warning("others can see a secret", metadata: ["reason": "\(warning)"])
        }
    }

    private func tell(_ mistakes: [ConfigurationError]) {
        for mistake in mistakes.prefix(Self.mistakesMax) {
            var metadata: Logger.Metadata = ["error": "\(mistake)"]
            metadata["file"] = feed.source.file.map { "\($0)" }
            metadata["line"] = mistake.line.map { "\($0)" }
            logger.error("configuration not usable; the one before goes on", metadata: metadata)
        }
    }

    /// Brings the store into line; what it cannot do now the next look tries again.
    private func align(_ state: inout State) async {
        do {
            for former in state.behind { try await change.align(since: former) }
            state.behind = []
            state.refusal = nil
        } catch StoreError.unavailable(let reason) {
            // A store that is away is told of by everything else.
            logger.debug("store not aligned", metadata: ["error": "\(reason)"])
            return
        } catch {
            guard !Task.isCancelled else { return }
            let told = "\(error)"
            logger.log(
                level: told == state.refusal ? .debug : .error,
                "the store does not follow the configuration; it is tried again",
                metadata: ["error": "\(told)"]
            )
            state.refusal = told
        }
        ReloadMetrics.found(mistakes: state.mistakeCount)
    }

    /// All that is wrong with one reading.
    private struct Mistakes: Error {
        let all: [ConfigurationError]
    }
}

/// What is counted of reloads.
private enum ReloadMetrics {
    /// Counts a reading by what came of it.
    static func count(_ result: String) {
        Counter(label: "poller_config_reloads_total", dimensions: [("result", result)]).increment()
    }

    /// So much was wrong with what was read last; a count would not say whether it still is.
    static func found(mistakes: Int) {
        Gauge(label: "poller_config_mistakes").record(Double(mistakes))
    }

    /// From now on a configuration holds, of which so many options wait for a restart.
    static func holds(waiting: Int = 0) {
        let now = Double(WallClock.now().ms) / 1000
        Gauge(label: "poller_config_read_timestamp_seconds").record(now)
        Gauge(label: "poller_config_restart_options").record(Double(waiting))
    }
}
