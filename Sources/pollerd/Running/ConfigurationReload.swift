import Foundation
import Logging
import Metrics
import PollerIdentity
import PollerQueue
import ServiceLifecycle
import UnixSignals

/// The source of new configurations for a running process, and the configuration of its start.
struct ConfigurationFeed: Sendable {
    /// Adapts settings to this process before they are used.
    typealias Adaptation = @Sendable (inout Settings) throws(ConfigurationError) -> Void

    let source: ConfigurationSource
    /// The configuration of the process's start.
    let configuration: Configuration
    /// The files that were read at the start.
    let files: Set<String>
    /// The state of the files at the start.
    ///
    /// They may change while the start waits for its store.
    let marks: FileMarks
    /// SIGHUP: requests an immediate reload.
    let hangups: UnixSignalsSequence
    let adapt: Adaptation
}

/// Reloads the configuration on SIGHUP and when one of its files has changed, and applies all of it or nothing.
///
/// *Problem.* A new key, a moved upstream or an added endpoint required a restart of every process. A partly applied
/// change, or a typing mistake that stops a working process, would be worse.
///
/// *Approach.* The files are checked every second without being read. Links are followed (``FileMarks``). A change is
/// read once two checks have seen the same state. A file that is being written can end anywhere, and half of one may
/// well be a valid configuration without accounts. Then everything is read, parsed and checked as at a start. If there
/// is any mistake, nothing changes and the mistake is logged once. The next check that finds other files tries again.
/// Without mistakes, all reloadable settings change in one step (``NodeChange``). Options that need a restart are
/// logged at this reload and at each later one.
///
/// *Rejected*: notifications of the system (inotify, kqueue). They report links and mounted folders differently, and on
/// some mounts not at all. Checking a handful of files every second costs nothing.
///
/// *After a crash* nothing is left to do: the next start reads the files.
struct ConfigurationReload: Service {
    /// The interval between checks.
    ///
    /// A change takes effect after two to three of them.
    private static let pace = Duration.seconds(1)
    /// The number of checks after which a rejected configuration is read again, even if its files are unchanged.
    private static let againAfter = 5
    /// The number of checks between two attempts to align a store that refuses a part.
    ///
    /// Each attempt reads all endpoints.
    private static let refusedPause = 10
    /// The maximum of configurations that are remembered while the store is unavailable.
    private static let behindMax = 32
    /// The maximum of mistakes logged per reading.
    ///
    /// A file of another format would have hundreds.
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

    /// The reason for a check.
    private enum Cause {
        case hangup
        case tick
    }

    /// The state between two checks.
    private struct State {
        /// The last configuration that was read without a mistake.
        var configuration: Configuration
        var files: Set<String>
        /// The marks of the files when they were read, and the changed marks that the last check saw.
        var read: FileMarks
        var seen: FileMarks?
        /// The settings in effect since the store was last aligned; `nil` for those before the start.
        ///
        /// The store may match any of them in part.
        var behind: [Settings?] = []
        /// The mistakes of the last reading, and the number of checks since then.
        var mistakes: [String] = []
        var checks = 0
        /// The reason why the store rejects the configuration, if retrying alone does not help.
        var refusal: String?
        /// The number of checks until the store is tried again.
        var pause = 0

        /// The number of problems that an operator must fix.
        var mistakeCount: Int { mistakes.count + (refusal == nil ? 0 : 1) }
    }

    /// Follows the configuration until shut down or cancelled.
    func run() async throws {
        ReloadMetrics.holds()
        ReloadMetrics.found(mistakes: 0)
        await cancelWhenGracefulShutdown {
            // One of many concurrent requests is enough, because each check finds everything.
            let (causes, cause) = AsyncStream.makeStream(
                of: Cause.self,
                bufferingPolicy: .bufferingNewest(2)
            )
            await withTaskGroup(of: Void.self) { group in
                // Both are cancelled with this task.
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
        if change.node.live.lacksEndpoints { state.behind = [nil] }
        for await cause in causes {
            switch cause {
            case .hangup:
                logger.notice("SIGHUP received; reloading the configuration")
                reload(&state)
            case .tick: checkFiles(&state)
            }
            state.pause -= 1
            if !state.behind.isEmpty, state.pause <= 0 { await align(&state) }
        }
    }

    /// Checks whether files have changed and are completely written.
    private func checkFiles(_ state: inout State) {
        let marks = FileMarks(of: state.files)
        guard marks != state.read else {
            state.seen = nil
            state.checks += 1
            // The mistake may be in a file whose marks are not tracked, such as an incomplete certificate.
            if !state.mistakes.isEmpty, state.checks >= Self.againAfter {
                reload(&state, isAgain: true)
            }
            return
        }
        guard marks == state.seen else {
            state.seen = marks
            return
        }
        logger.notice(
            "configuration files changed; reloading",
            metadata: ["files": "\(marks.changes(since: state.read).joined(separator: ", "))"]
        )
        reload(&state)
    }

    /// Reads the whole configuration.
    ///
    /// `isAgain` means that no file has changed and no reload was requested. The same mistakes are then not logged
    /// again.
    private func reload(_ state: inout State, isAgain: Bool = false) {
        // Taken before the files are read, so that the next check sees later changes.
        let before = FileMarks(of: state.files)
        let reading = feed.source.read()
        var new = state.files == reading.files ? before : FileMarks(of: reading.files)
        do {
            let configuration = try reading.configuration.get()
            let mistakes = configuration.mistakes
            guard mistakes.isEmpty else { throw Mistakes(all: mistakes) }
            let result = try follow(configuration, &state)
            state.files = reading.files
            state.mistakes = []
            // The next step shows whether the store accepts this configuration.
            state.refusal = nil
            ReloadMetrics.found(mistakes: 0)
            // Counted last: a program that waits for the count then finds the rest.
            ReloadMetrics.count(result)
        } catch {
            // A file that the new configuration names may appear later. The files of the old one are still in use.
            state.files.formUnion(reading.files)
            new = state.files == reading.files ? new : FileMarks(of: state.files)
            let all = (error as? Mistakes)?.all ?? [error as? ConfigurationError].compactMap(\.self)
            let descriptions = all.map { "\($0)" }
            let isNew = !isAgain || descriptions != state.mistakes
            if isNew { logMistakes(all) }
            state.mistakes = descriptions
            ReloadMetrics.found(mistakes: state.mistakeCount)
            if isNew { ReloadMetrics.count("refused") }
        }
        state.read = new
        state.seen = nil
        state.checks = 0
    }

    /// Applies a configuration without mistakes.
    private func follow(
        _ configuration: Configuration,
        _ state: inout State
    ) throws(ConfigurationError) -> String {
        var settings = try Settings(configuration)
        try feed.adapt(&settings)
        let apply = try change.prepare(settings)
        let former = change.node.live.now.settings
        apply()
        state.behind = state.behind.suffix(Self.behindMax - 1) + [former]
        state.pause = 0

        let difference = ConfigurationDifference(from: state.configuration, to: configuration)
        let waiting = ConfigurationDifference(from: feed.configuration, to: configuration).atRestart
        state.configuration = configuration
        ReloadMetrics.holds(waiting: waiting.count)
        logger.notice(
            "configuration reloaded",
            metadata: ["changes": "\(difference.atOnce.map(\.line).joined(separator: "; "))"]
        )
        for option in waiting {
            logger.warning("an option needs a restart", metadata: ["option": "\(option.name)"])
        }
        for name in configuration.unknown {
            logger.warning("unknown option ignored", metadata: ["option": "\(name)"])
        }
        for warning in configuration.warnings {
            logger.warning("a secret is visible to others", metadata: ["reason": "\(warning)"])
        }
        return difference.changes.isEmpty ? "same" : "changed"
    }

    private func logMistakes(_ mistakes: [ConfigurationError]) {
        for mistake in mistakes.prefix(Self.mistakesMax) {
            var metadata: Logger.Metadata = ["error": "\(mistake)"]
            metadata["file"] = feed.source.file.map { "\($0)" }
            metadata["line"] = mistake.line.map { "\($0)" }
            logger.error("configuration not usable; keeping the previous one", metadata: metadata)
        }
    }

    /// Aligns the store.
    ///
    /// The next check retries after a failure.
    private func align(_ state: inout State) async {
        do {
            try await change.align(since: state.behind)
            state.behind = []
            state.refusal = nil
        } catch StoreError.unavailable(let reason, _) {
            // An unavailable store is reported by the connection.
            logger.debug("store not aligned", metadata: ["error": "\(reason)"])
            return
        } catch {
            guard !Task.isCancelled else { return }
            let failure = "\(error)"
            logger.log(
                level: failure == state.refusal ? .debug : .error,
                "configuration not yet applied to the store; retrying",
                metadata: ["error": "\(failure)"]
            )
            state.refusal = failure
            state.pause = Self.refusedPause
        }
        ReloadMetrics.found(mistakes: state.mistakeCount)
    }

    /// All mistakes of one reading.
    private struct Mistakes: Error {
        let all: [ConfigurationError]
    }
}

private enum ReloadMetrics {
    /// Counts a reading by its result.
    static func count(_ result: String) {
        Counter(label: "poller_config_reloads_total", dimensions: [("result", result)]).increment()
    }

    /// Records the number of mistakes in the last reading.
    ///
    /// A counter would not show whether they still exist.
    static func found(mistakes: Int) {
        Gauge(label: "poller_config_mistakes").record(Double(mistakes))
    }

    /// Records that a configuration is in effect, with the number of options that need a restart.
    static func holds(waiting: Int = 0) {
        let now = Double(WallClock.now().ms) / 1000
        Gauge(label: "poller_config_read_timestamp_seconds").record(now)
        Gauge(label: "poller_config_restart_options").record(Double(waiting))
    }
}
