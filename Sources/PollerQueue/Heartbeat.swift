import Logging
import PollerIdentity
import ServiceLifecycle

/// Announces a process in the list of live ones, and assigns partitions to its loops.
package struct Heartbeat<C: Clock>: Service where C.Duration == Duration {
    /// The interval of announcements.
    ///
    /// The partitions of a dead process are reassigned when its announcement has expired (``span``) and the others read
    /// the list again. Until then helpers claim from them, a moment later than the owner would.
    static var beat: Duration { .seconds(2) }
    /// The validity of one announcement.
    ///
    /// Two lost beats use it up, so only one may be lost safely. From ``listed`` processes on the list is read less
    /// often, so a dead process is noticed later.
    static var span: Duration { .seconds(6) }
    /// The number of processes below which each beat reads the list of all.
    ///
    /// From it on every second beat reads it, from twice as many every third, and so on. The cost of the lists then
    /// grows linearly with the processes, not with their square.
    static var listed: Int { 50 }
    /// The maximum number of beats between two lists.
    static var quietMax: Int { 10 }

    /// A loop that divides partitions with the same loop of other processes.
    package struct Loop: Sendable {
        /// The role that runs it, as in ``Member/roles``.
        package let role: String
        package let partitions: Int
        package let inFlight: @Sendable () -> Int
        package let assign: @Sendable (PartitionAssignment) -> Void

        package init(
            role: String,
            partitions: Int,
            inFlight: @escaping @Sendable () -> Int,
            assign: @escaping @Sendable (PartitionAssignment) -> Void
        ) {
            self.role = role
            self.partitions = partitions
            self.inFlight = inFlight
            self.assign = assign
        }
    }

    private let membership: any Membership
    private let member: Member
    private let loops: [Loop]
    private let capabilities: @Sendable () -> String?
    private let clock: C
    private let logger: Logger

    /// Creates a heartbeat for `member`; each beat reports the loops' `inFlight` and the result of `capabilities`.
    package init(
        membership: any Membership,
        member: Member,
        loops: [Loop],
        capabilities: @escaping @Sendable () -> String? = { nil },
        clock: C,
        logger: Logger
    ) {
        self.membership = membership
        self.member = member
        self.loops = loops
        self.capabilities = capabilities
        self.clock = clock
        self.logger = logger
    }

    /// Sends beats until shutdown, then removes the process from the list.
    package func run() async {
        await cancelWhenGracefulShutdown {
            // The number of beats until the next one that reads the list.
            var quiet = 0
            while !Task.isCancelled {
                if quiet > 0 {
                    await announce()
                    quiet -= 1
                } else {
                    quiet = min(await beatOnce() / Self.listed, Self.quietMax)
                }
                try? await self.clock.sleep(for: Self.beat)
            }
        }
        do {
            try await membership.leave(member.owner)
        } catch {
            logger.debug("could not leave the list", metadata: ["error": "\(error)"])
        }
    }

    /// The current state of this process.
    private var now: Member {
        var now = member
        now.inFlight = loops.reduce(0) { $0 + $1.inFlight() }
        now.capabilities = capabilities()
        return now
    }

    /// Sends one beat without reading the list.
    private func announce() async {
        do {
            try await membership.announce(now, for: Self.span)
        } catch {
            logger.debug("beat not heard", metadata: ["error": "\(error)"])
        }
    }

    /// Sends one beat and returns the number of processes.
    ///
    /// Without the store, every process keeps its last assignment.
    @discardableResult
    func beatOnce() async -> Int {
        let now = now
        do {
            let members = try await membership.beat(now, for: Self.span)
            for loop in loops {
                let peers = members.filter {
                    $0.roles.split(separator: ",").contains { $0 == loop.role }
                }
                let assignment = PartitionAssignment(
                    of: member.owner,
                    among: peers.map(\.owner),
                    partitions: loop.partitions
                )
                let haveSameCapabilities = peers.allSatisfy { $0.capabilities == now.capabilities }
                loop.assign(haveSameCapabilities ? assignment : assignment.clamped())
            }
            return members.count
        } catch {
            logger.debug("beat not heard", metadata: ["error": "\(error)"])
            return 0
        }
    }
}
