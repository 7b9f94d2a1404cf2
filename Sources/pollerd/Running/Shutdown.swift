import Foundation
import Logging
import ProgramOutput
import ServiceLifecycle
import Synchronization
import UnixSignals

/// Handles signals: the first drains this process, the second ends it at once.
///
/// Before the services run, the first signal ends the process too. Either way the embedded programs end with it.
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

    /// Registers the services that the first signal drains.
    ///
    /// The group stops services one after the other. All loops drain at once before that, so that their drain timeouts
    /// do not add up.
    func drains(_ group: ServiceGroup, loops: DrainingLoops) {
        services.withLock { $0 = (group, loops) }
    }

    /// Handles signals until cancelled.
    func listen(to signals: UnixSignalsSequence) async {
        var isDraining = false
        for await signal in signals {
            guard !isDraining, let (group, loops) = services.withLock({ $0 }) else {
                logger.warning("terminating immediately", metadata: ["signal": "\(signal)"])
                embedded?.stop()
                // Leases expire on their own, and the operator has asked not to wait.
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

/// The loops of a node that stop claiming as soon as a drain begins.
///
/// It is a class because the node adds loops during its construction and the signal listener reads them.
final class DrainingLoops: Sendable {
    private let drains = Mutex<[@Sendable () -> Void]>([])
    private let hasBegun = Mutex(false)

    /// Whether the drain has begun.
    ///
    /// The process then reports itself as not ready.
    var areDraining: Bool { hasBegun.withLock { $0 } }

    /// Adds a closure that drains a loop.
    func add(_ drain: @escaping @Sendable () -> Void) {
        drains.withLock { $0.append(drain) }
    }

    func drain() {
        hasBegun.withLock { $0 = true }
        for drain in drains.withLock({ $0 }) { drain() }
    }
}

/// A loop that drained early and waits for its place in the shutdown order.
///
/// The service group treats a service that ends early as broken.
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
        // Throws when cancelled, which ends it too.
        try? await gracefulShutdown()
    }
}
