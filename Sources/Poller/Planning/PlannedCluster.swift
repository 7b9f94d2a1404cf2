import PollerIdentity
import SafeNumbers

/// How a traffic is told of, and for how long it is remembered: what a plan needs beside ``PlannedTraffic``.
package struct PlannedLoad: Hashable, Sendable {
    /// Accounts that share the traffic evenly; each is a lane of its own.
    package var accounts = 1
    /// Events that a payment has in the end.
    package var events = 5.0
    /// Receivers that each event is delivered to.
    package var deliveries = 1.0
    /// Names that a payment can be found by.
    package var names = 0.0
    /// Live connections at once.
    package var listeners = 0.0
    /// Of those, how many hear an event, on average.
    package var heard = 1.0
    /// How long a listener stays.
    package var stay = Duration.seconds(600)
    /// Processes of each role; nil: as many as it takes, of which one may die.
    package var processes: Int?
    /// Of a hundred payments, those whose money may come back: they are remembered longest.
    package var returnable = 0.0
    /// How long finished payments are remembered.
    package var retention = RetentionSpans.standard
    /// How long the traffic has been on; nil: until as much is forgotten as comes.
    package var age: Duration?
    /// What one Redis may hold, bytes.
    package var masterBytes = 24e9

    /// One account whose events go to one receiver.
    package init() {}
}

/// The cluster that a traffic needs: what each unit of work costs (``PlannedCost``), times how many there are.
///
/// *Memory*: a payment passes through ages in which less and less of it is remembered; what is in each of them is how many
/// begin in a second, times how long it lasts. *Cores*: each role has its part of every unit, and a process that is up
/// costs something by itself. Sums, unlike the month they begin with: nothing here waits for anything.
package struct PlannedCluster: Hashable, Sendable, Encodable {
    /// Cores of one role, all of its processes together, and how many processes that makes.
    package struct Role: Hashable, Sendable, Encodable {
        /// What is said where no number of processes is enough.
        package static let impossible = "not possible with processes of one core"

        /// Cores they fill; where no number of them is enough, those of the fewest there may be.
        package let cores: Double
        /// Processes, of which one may die: each of the others fills a core at most.
        ///
        /// As many as were named, if they were. Nil: no number is enough, because to hear of every event, which each
        /// of them does, fills a core.
        package let processes: Int?

        /// As `{"cores": 4.3, "processes": null, "problem": "not possible …"}`, the problem only where there is one.
        package func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(cores, forKey: .cores)
            try container.encode(processes, forKey: .processes)
            if processes == nil { try container.encode(Self.impossible, forKey: .problem) }
        }

        private enum CodingKeys: String, CodingKey {
            case cores, processes, problem
        }
    }

    /// Bytes that a payment takes in each age.
    package struct Bytes: Hashable, Sendable, Encodable {
        /// While it is open.
        package let open: Double
        /// While the outbox has its events.
        package let outbox: Double
        /// While its events have their bodies.
        package let bodies: Double
        /// Until its deliveries are forgotten.
        package let closed: Double
        /// Until the watch is forgotten.
        package let last: Double
        /// While its money may still come back.
        package let afterlife: Double

        init(_ load: PlannedLoad) {
            func sum(_ parts: (PlannedCost, Double)...) -> Double {
                parts.reduce(0) { $0 + $1.0.value * $1.1 }
            }
            let (names, events, deliveries) = (load.names, load.events, load.deliveries)
            open = sum((.openPayment, 1), (.openName, names), (.openDelivery, deliveries))
            bodies = sum(
                (.bodyPayment, 1),
                (.bodyName, names),
                (.bodyEvent, events),
                (.bodyDelivery, deliveries),
                (.bodyAttempt, deliveries * events)
            )
            outbox = bodies + sum((.outboxEvent, events))
            last = sum((.closedPayment, 1), (.closedName, names), (.closedEvent, events))
            closed = last + sum((.closedDelivery, deliveries))
            afterlife = sum((.afterlifePayment, 1), (.closedName, names))
        }
    }

    /// Payments that begin in a second.
    package let paymentsPerSecond: Double
    /// Polls in a second, sweeps among them.
    package let pollsPerSecond: Double
    /// Webhooks in a second.
    package let deliveriesPerSecond: Double
    /// Events told to live connections in a second.
    package let framesPerSecond: Double
    /// What a payment takes.
    package let bytes: Bytes
    /// Memory of Redis, all masters together.
    package let redisBytes: Double
    /// Cores that Redis fills, all masters together.
    package let redisCores: Double
    /// Masters of Redis, by memory and by cores.
    package let masters: Int
    /// Partitions to make the store with.
    package let partitions: Int
    /// What polls.
    package let worker: Role
    /// What delivers.
    package let notifier: Role
    /// What takes requests.
    package let api: Role
    /// What tells live connections; none without listeners.
    package let gateway: Role

    /// Plans a cluster for what a month of each account comes to.
    ///
    /// - Parameters:
    ///   - month: What each account is to expect.
    ///   - load: What there is beside its payments.
    ///   - hottest: What the fullest of so many masters (second) has of so many partitions (first), as a multiple of
    ///     the mean.
    package init(
        _ month: PlannedOutcome,
        _ load: PlannedLoad,
        hottest: (_ partitions: Int, _ masters: Int) -> Double
    ) {
        let accounts = Double(load.accounts)
        let payments = Double(month.sourcesPerMonth) / PlannedTraffic.month.inSeconds * accounts
        let pace = PlannedPace(
            payments: payments,
            polls: payments * month.getsPerSource,
            events: payments * load.events,
            deliveries: payments * load.events * load.deliveries,
            frames: payments * load.events * min(load.heard, load.listeners),
            arrivals: load.listeners / load.stay.inSeconds
        )
        let each = Bytes(load)
        bytes = each
        paymentsPerSecond = payments
        pollsPerSecond = pace.polls
        deliveriesPerSecond = pace.deliveries
        framesPerSecond = pace.frames
        worker = Self.role(.worker, load, pace)
        notifier = Self.role(.notifier, load, pace)
        api = Self.role(.api, load, pace)
        gateway = Self.gateways(load, pace)
        let all = [worker, notifier, api, gateway].reduce(0) { $0 + ($1.processes ?? Self.fewest) }
        redisCores = pace.cores(.redis, processes: all)
        // Who began half a life ago ends now.
        let age = load.age.map { $0 - .milliseconds(Int64(saturating: month.lifeSeconds * 500)) }
        let ended = payments * Self.remembered(each, load, age: age)
        let held = month.open * accounts * each.open + ended
        let memory = held * PlannedCost.redisAllocated.value
        let need = max(memory / load.masterBytes, redisCores / PlannedCost.masterCores.value)
        (masters, partitions) = Self.size(need, hottest)
        redisBytes = memory + Double(masters) * PlannedCost.redisEmpty.value
    }

    /// Bytes of all that has ended, for one payment a second.
    private static func remembered(
        _ bytes: Bytes,
        _ load: PlannedLoad,
        age: Duration?
    ) -> Double {
        let spans = load.retention
        let bodies = spans.bodiesAtLeast
        let watch = spans.closed + RetentionSpans.deliveryMax
        /// Seconds of an age that the traffic has reached.
        func seconds(_ from: Duration, _ to: Duration) -> Double {
            let end = age.map { min($0, to) } ?? to
            return max(0, (end - from).inSeconds)
        }
        return seconds(.zero, spans.outbox) * bytes.outbox
            + seconds(spans.outbox, bodies) * bytes.bodies
            + seconds(bodies, spans.closed) * bytes.closed
            + seconds(spans.closed, watch) * bytes.last
            + seconds(watch, max(watch, spans.afterlife)) * bytes.afterlife * load.returnable / 100
    }

    /// Of each role: one that works, and one that may die.
    private static let fewest = 2

    /// As many as the work takes a core each of when one has died, and no fewer than `least`.
    private static func role(
        _ role: PlannedPace.Role,
        _ load: PlannedLoad,
        _ pace: PlannedPace,
        least: Int = Self.fewest
    ) -> Role {
        let count = load.processes ?? pace.processes(role).map { max(least, $0 + 1) }
        return Role(cores: pace.cores(role, processes: count ?? least), processes: count)
    }

    /// As many as hold the listeners, too, when one has died.
    private static func gateways(_ load: PlannedLoad, _ pace: PlannedPace) -> Role {
        guard load.listeners > 0 else { return Role(cores: 0, processes: 0) }
        let holding = Int(
            saturating: (load.listeners / PlannedCost.gatewayListeners.value).rounded(.up)
        )
        return role(.gateway, load, pace, least: max(Self.fewest, holding.addingSaturating(1)))
    }

    /// As few masters as the fullest of them has room on, and as few partitions as spread the work that evenly.
    private static func size(
        _ need: Double,
        _ hottest: (Int, Int) -> Double
    ) -> (masters: Int, partitions: Int) {
        let least = max(1, Int(saturating: need.rounded(.up)))
        guard least > 1 else { return (1, partitionsAllowed.first ?? 1) }
        for masters in least...(2 * least) {
            for partitions in partitionsAllowed {
                let share = hottest(partitions, masters)
                if share <= PlannedCost.masterHottest.value, need * share <= Double(masters) {
                    return (masters, partitions)
                }
            }
        }
        // More masters than partitions can be spread over.
        return (least, partitionsAllowed.last ?? 1024)
    }

    /// From what a store has by itself to what it may have.
    private static let partitionsAllowed = [16, 64, 256, 1024]

    private enum CodingKeys: String, CodingKey {
        case bytes, masters, partitions, worker, notifier, api, gateway
        case paymentsPerSecond = "payments_per_s"
        case pollsPerSecond = "polls_per_s"
        case deliveriesPerSecond = "deliveries_per_s"
        case framesPerSecond = "frames_per_s"
        case redisBytes = "redis_bytes"
        case redisCores = "redis_cores"
    }
}
