import Foundation
import Logging
import ProgramOutput
import ServiceLifecycle
import Synchronization
import UnixSignals

/// What signals do to this process: the first drains it, the second ends it at once.
///
/// Before there is anything to drain, the first one ends it too. Either way the embedded programs
/// go with it. A class, because the signal listener and the node share it.
final class Shutdown: Sendable {
    private let embedded: EmbeddedPrograms?
    private let announcer: Announcer
    private let logger: Logger
    private let services = Mutex<(group: ServiceGroup, loops: DrainingLoops)?>(nil)

    init(embedded: EmbeddedPrograms?, announcer: Announcer, logger: Logger) {
        self.embedded = embedded
        self.announcer = announcer
        self.logger = logger
    }

    /// From now on the first signal drains these services.
    ///
    /// The group stops them one after the other; the loops drain all at once before, so that
    /// their drain timeouts do not add up.
    func drains(_ group: ServiceGroup, loops: DrainingLoops) {
        services.withLock { $0 = (group, loops) }
    }

    /// Acts on signals until cancelled.
    func listen(to signals: UnixSignalsSequence) async {
        var isDraining = false
        for await signal in signals {
            guard !isDraining, let (group, loops) = services.withLock({ $0 }) else {
                logger.warning("ends at once", metadata: ["signal": "\(signal)"])
                embedded?.stop()
                // Leases expire by themselves; waiting is what the operator refused.
                LogOutput.standardError.flush()
                _exit(isDraining ? 1 : 0)
            }
            isDraining = true
            logger.notice("signal received, draining", metadata: ["signal": "\(signal)"])
            announcer.stopping()
            loops.drain()
            await group.triggerGracefulShutdown()
        }
    }
}

/// The loops of a node that stop claiming the moment a drain begins, and whether it has begun.
///
/// A class, because the node adds to it while it is put together and the signal listener reads it.
final class DrainingLoops: Sendable {
    private let drains = Mutex<[@Sendable () -> Void]>([])
    private let hasBegun = Mutex(false)

    /// Whether they have been told to drain; whoever asks whether this process is ready is told no then.
    var areDraining: Bool { hasBegun.withLock { $0 } }

    /// Adds what makes a loop drain.
    func add(_ drain: @escaping @Sendable () -> Void) {
        drains.withLock { $0.append(drain) }
    }

    /// Makes all of them drain.
    func drain() {
        hasBegun.withLock { $0 = true }
        for drain in drains.withLock({ $0 }) { drain() }
    }
}

/// A loop that has drained early and waits for its turn to end.
///
/// The service group takes a service that ends before its turn for a broken one.
struct DrainedLoop: Service {
    private let loop: @Sendable () async -> Void

    /// Wraps the call that runs the loop.
    ///
    /// The closure names the loop's types, so the compiler makes a copy of the loop for them. A call through
    /// `Service` would reach the copy for all types, which looks them up at run time.
    init(_ loop: @escaping @Sendable () async -> Void) {
        self.loop = loop
    }

    func run() async {
        await loop()
        // Throws when cancelled, which ends it just as well.
        try? await gracefulShutdown()
    }
}
