import Logging
import PollerIdentity
import ServiceLifecycle

/// Keeps a process on the list of live ones, and tells its loops which partitions are theirs.
package struct Heartbeat<C: Clock>: Service where C.Duration == Duration {
    /// How often a process says that it lives: a dead one's share is late for no longer than
    /// ``span``, and then only by what others wait before they help out.
    static var beat: Duration { .seconds(2) }
    /// How long one beat counts: two may be lost.
    ///
    /// Where there are many, others see with their next list that one is gone.
    static var span: Duration { .seconds(6) }
    /// Processes among which each beat asks for the list of all; among so many more it asks at every second
    /// beat, and so on, so that what the lists cost grows with the processes and not with their square.
    static var listed: Int { 50 }
    /// Beats between two lists at most.
    static var quietMax: Int { 10 }

    /// A loop that shares partitions with the same loop of other processes.
    package struct Loop: Sendable {
        /// The role that runs it, as ``Member/roles`` names it.
        package let role: String
        package let partitions: Int
        package let inFlight: @Sendable () -> Int
        package let share: @Sendable (PartitionShare) -> Void

        /// Describes a loop.
        package init(
            role: String,
            partitions: Int,
            inFlight: @escaping @Sendable () -> Int,
            share: @escaping @Sendable (PartitionShare) -> Void
        ) {
            self.role = role
            self.partitions = partitions
            self.inFlight = inFlight
            self.share = share
        }
    }

    private let membership: any Membership
    private let member: Member
    private let loops: [Loop]
    private let serves: @Sendable () -> String?
    private let clock: C
    private let logger: Logger

    /// Announces `member`, whose `inFlight` is that of its loops at each beat, and what it `serves`.
    package init(
        membership: any Membership,
        member: Member,
        loops: [Loop],
        serves: @escaping @Sendable () -> String? = { nil },
        clock: C,
        logger: Logger
    ) {
        self.membership = membership
        self.member = member
        self.loops = loops
        self.serves = serves
        self.clock = clock
        self.logger = logger
    }

    /// Beats until shut down, then leaves the list.
    package func run() async {
        await cancelWhenGracefulShutdown {
            // How many beats ask for nothing until the next one that does.
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

    /// This process as it is now.
    private var now: Member {
        var now = member
        now.inFlight = loops.reduce(0) { $0 + $1.inFlight() }
        now.serves = serves()
        return now
    }

    /// One beat that asks for nothing.
    private func announce() async {
        do {
            try await membership.announce(now, for: Self.span)
        } catch {
            logger.debug("beat not heard", metadata: ["error": "\(error)"])
        }
    }

    /// One beat, and how many processes there are; without the store everybody works on with what is known.
    @discardableResult
    func beatOnce() async -> Int {
        let now = now
        do {
            let members = try await membership.beat(now, for: Self.span)
            for loop in loops {
                let peers = members.filter {
                    $0.roles.split(separator: ",").contains { $0 == loop.role }
                }
                let share = PartitionShare(
                    of: member.owner,
                    among: peers.map(\.owner),
                    partitions: loop.partitions
                )
                let isAlike = peers.allSatisfy { $0.serves == now.serves }
                loop.share(isAlike ? share : share.clamped())
            }
            return members.count
        } catch {
            logger.debug("beat not heard", metadata: ["error": "\(error)"])
            return 0
        }
    }
}
