package import Logging
import ServiceLifecycle

/// Keeps a process on the list of live ones, and tells its loops which partitions are theirs.
package struct Heartbeat<C: Clock>: Service where C.Duration == Duration {
    /// How often a process says that it lives: a dead one's share is late for no longer than
    /// ``span``, and then only by what others wait before they help out.
    static var beat: Duration { .seconds(2) }
    /// How long one beat counts: two may be lost.
    static var span: Duration { .seconds(6) }

    /// A loop that shares partitions with the same loop of other processes.
    package struct Loop: Sendable {
        /// The role that runs it, as ``Member/roles`` names it.
        package let role: String
        package let partitions: Int
        package let inFlight: @Sendable () -> Int
        package let own: @Sendable (Set<Int>) -> Void

        /// Describes a loop.
        package init(
            role: String,
            partitions: Int,
            inFlight: @escaping @Sendable () -> Int,
            own: @escaping @Sendable (Set<Int>) -> Void
        ) {
            self.role = role
            self.partitions = partitions
            self.inFlight = inFlight
            self.own = own
        }
    }

    private let membership: any Membership
    private let member: Member
    private let loops: [Loop]
    private let clock: C
    private let logger: Logger

    /// Announces `member`, whose `inFlight` is that of its loops at each beat.
    package init(
        membership: any Membership,
        member: Member,
        loops: [Loop],
        clock: C,
        logger: Logger
    ) {
        self.membership = membership
        self.member = member
        self.loops = loops
        self.clock = clock
        self.logger = logger
    }

    /// Beats until shut down, then leaves the list.
    package func run() async {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                await beatOnce()
                try? await clock.sleep(for: Self.beat)
            }
        }
        do {
            try await membership.leave(member.owner)
        } catch {
            logger.debug("could not leave the list", metadata: ["error": "\(error)"])
        }
    }

    /// One beat; without the store everybody works on with what is known.
    func beatOnce() async {
        var now = member
        now.inFlight = loops.reduce(0) { $0 + $1.inFlight() }
        do {
            let members = try await membership.beat(now, for: Self.span)
            for loop in loops {
                let peers = members.filter {
                    $0.roles.split(separator: ",").contains { $0 == loop.role }
                }
                loop.own(
                    Ownership.partitions(
                        loop.partitions,
                        of: member.owner,
                        among: peers.map(\.owner)
                    )
                )
            }
        } catch {
            logger.debug("beat not heard", metadata: ["error": "\(error)"])
        }
    }
}
