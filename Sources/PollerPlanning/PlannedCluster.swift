import PollerIdentity
package import PollerWatches
import SafeNumbers

/// The deliveries and retention of a planned traffic: the input of a plan in addition to ``PlannedTraffic``.
package struct PlannedLoad: Hashable, Sendable {
    /// The number of accounts that share the traffic evenly; each is a separate lane.
    package var accounts = 1
    /// The number of events per payment.
    package var events = 5.0
    /// The number of recipients per event.
    package var deliveries = 1.0
    /// The number of search names per payment.
    package var names = 0.0
    /// The number of concurrent live connections.
    package var listeners = 0.0
    /// The average number of live connections that receive an event.
    package var listenersPerEvent = 1.0
    /// The duration of a live connection.
    package var stay = Duration.seconds(600)
    /// The number of processes of each role; `nil` for as many as necessary, of which one may die.
    package var processes: Int?
    /// The percentage of payments that may be returned, which are kept longest.
    package var returnable = 0.0
    /// The retention of finished payments.
    package var retention = RetentionSpans.standard
    /// The age of the traffic; `nil` for a steady state, in which as much is deleted as is added.
    package var age: Duration?
    /// The memory limit of one Redis, in bytes.
    package var masterBytes = 24e9

    /// Creates a load with one account and one recipient.
    package init() {}
}

/// The cluster for a planned traffic: the cost of each unit of work (``PlannedCost``), times the number of units.
///
/// *Memory*: a payment passes through ages in which less and less of it is kept. The number of payments in each age is
/// the rate of new ones times its duration. *Cores*: each role has a part of every unit, and a running process has a
/// base cost. These are sums, unlike the simulated month they are based on: nothing here waits for anything.
package struct PlannedCluster: Hashable, Sendable, Encodable {
    /// The cores and processes of one role.
    package struct Role: Hashable, Sendable, Encodable {
        /// The problem text if no number of processes is enough.
        package static let impossible = "not possible with processes of one core"

        /// The cores of all its processes together; if no number is enough, those of the minimum.
        package let cores: Double
        /// The number of processes, of which one may die: then each of the others uses at most one core.
        ///
        /// The configured number, if there is one. `nil`: no number is enough, because reading every event, which each
        /// of them does, uses a whole core.
        package let processes: Int?

        /// Encodes `{"cores": 4.3, "processes": null, "problem": "not possible …"}`, with the problem only if there is
        /// one.
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

    /// The bytes of a payment in each age.
    package struct Bytes: Hashable, Sendable, Encodable {
        /// Open payments.
        package let open: Double
        /// Payments with events in the outbox.
        package let outbox: Double
        /// Payments with event bodies.
        package let bodies: Double
        /// Payments without event bodies.
        package let closed: Double
        /// Payments that may still be returned.
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
            closed = sum(
                (.closedPayment, 1),
                (.closedName, names),
                (.closedEvent, events),
                (.closedDelivery, deliveries)
            )
            afterlife = sum((.refundablePayment, 1), (.closedName, names))
        }
    }

    /// The payments that begin per second.
    package let paymentsPerSecond: Double
    /// The polls per second, including sweeps.
    package let pollsPerSecond: Double
    /// The webhooks per second.
    package let deliveriesPerSecond: Double
    /// The events sent to live connections per second.
    package let framesPerSecond: Double
    /// The bytes per payment.
    package let bytes: Bytes
    /// The memory of all Redis masters.
    package let redisBytes: Double
    /// The cores of all Redis masters.
    package let redisCores: Double
    /// The number of Redis masters, by memory and by cores.
    package let masters: Int
    /// The number of partitions of the store.
    package let partitions: Int
    /// The role that polls.
    package let worker: Role
    /// The role that delivers.
    package let notifier: Role
    /// The role that serves requests.
    package let api: Role
    /// The role that serves live connections; none without listeners.
    package let gateway: Role

    /// Plans a cluster from the simulated month of each account.
    ///
    /// - Parameters:
    ///   - month: the outcome of each account.
    ///   - load: the load in addition to its payments.
    ///   - hottest: the share of the fullest master, for a number of partitions (first) and masters (second), as a
    ///     multiple of
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
            frames: payments * load.events * min(load.listenersPerEvent, load.listeners),
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
        // Payments that began half a life ago end now.
        let age = load.age.map { $0 - .milliseconds(Int64(saturating: month.lifeSeconds * 500)) }
        let ended = payments * Self.remembered(each, load, age: age)
        let held = month.open * accounts * each.open + ended
        let memory = held * PlannedCost.redisAllocated.value
        let need = max(memory / load.masterBytes, redisCores / PlannedCost.masterCores.value)
        (masters, partitions) = Self.size(need, hottest)
        redisBytes = memory + Double(masters) * PlannedCost.redisEmpty.value
    }

    /// Returns the bytes of all finished payments, for one payment per second.
    private static func remembered(
        _ bytes: Bytes,
        _ load: PlannedLoad,
        age: Duration?
    ) -> Double {
        let spans = load.retention
        let bodies = spans.bodiesAtLeast
        let watch = spans.closed + RetentionSpans.deliveryMax
        /// Returns the seconds of an age that the traffic has reached.
        func seconds(_ from: Duration, _ to: Duration) -> Double {
            let end = age.map { min($0, to) } ?? to
            return max(0, (end - from).inSeconds)
        }
        return seconds(.zero, spans.outbox) * bytes.outbox
            + seconds(spans.outbox, bodies) * bytes.bodies
            + seconds(bodies, watch) * bytes.closed
            + seconds(watch, max(watch, spans.refundableRetention)) * bytes.afterlife
            * load.returnable / 100
    }

    /// The minimum of each role: one process that works, and one that may die.
    private static let fewest = 2

    /// Returns the processes that are enough with one core each when one has died, at least `least`.
    private static func role(
        _ role: PlannedPace.Role,
        _ load: PlannedLoad,
        _ pace: PlannedPace,
        least: Int = Self.fewest
    ) -> Role {
        let count = load.processes ?? pace.processes(role).map { max(least, $0 + 1) }
        return Role(cores: pace.cores(role, processes: count ?? least), processes: count)
    }

    /// Returns the gateways that are enough, also for the connections, when one has died.
    private static func gateways(_ load: PlannedLoad, _ pace: PlannedPace) -> Role {
        guard load.listeners > 0 else { return Role(cores: 0, processes: 0) }
        let holding = Int(
            saturating: (load.listeners / PlannedCost.gatewayListeners.value).rounded(.up)
        )
        return role(.gateway, load, pace, least: max(Self.fewest, holding.addingSaturating(1)))
    }

    /// Returns the numbers of masters and partitions.
    ///
    /// They are the smallest number of masters at which the fullest has room, and the smallest number of partitions
    /// that spreads the work evenly enough.
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

    /// The allowed numbers of partitions, from the default to the maximum.
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
