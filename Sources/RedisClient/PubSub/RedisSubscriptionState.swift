import DequeModule
import NIOCore

/// A channel or pattern to subscribe to.
enum RedisTopic: Hashable {
    case channel(String)
    case pattern(String)

    var subscribe: RedisCommand {
        switch self {
        case .channel(let name): RedisCommand("SUBSCRIBE", [.string(name)])
        case .pattern(let name): RedisCommand("PSUBSCRIBE", [.string(name)])
        }
    }

    var unsubscribe: RedisCommand {
        switch self {
        case .channel(let name): RedisCommand("UNSUBSCRIBE", [.string(name)])
        case .pattern(let name): RedisCommand("PUNSUBSCRIBE", [.string(name)])
        }
    }
}

/// The subscriptions of the one subscription connection, and the meaning of its replies.
///
/// Each topic has its own `SUBSCRIBE`, and all are pipelined. A rejected one (`NOPERM`) then
/// affects no other. Every command has exactly one reply, so the oldest unanswered command
/// identifies the topic of a reply or an error. Messages arrive in between and carry their topic.
///
/// A topic is confirmed when the reply to its *latest* `SUBSCRIBE` has arrived. After subscribe,
/// unsubscribe, subscribe, the first reply does not confirm the last command. No I/O, no clock.
struct RedisSubscriptionState {
    /// Events and the subscriptions that receive them.
    struct Delivery: Hashable {
        let subscribers: Set<UInt64>
        let events: [RedisPubSubEvent]
    }

    /// The meaning of a reply.
    enum Received: Hashable {
        case nothing
        case deliver([Delivery])
        /// The server rejected a subscription. It is retried on the next connection.
        case refused(RedisTopic, RedisReplyError)
        /// The connection cannot be trusted.
        case malformed(String)
    }

    /// A command whose reply is outstanding.
    private enum Sent {
        case subscribe(RedisTopic, generation: UInt64)
        case unsubscribe
        case ping
    }

    /// A channel or pattern, its subscribers, and whether the server has confirmed it.
    private struct Topic {
        var subscribers: Set<UInt64> = []
        var isConfirmed = false
        /// The number of the latest `SUBSCRIBE`, whose reply confirms the topic.
        var generation: UInt64 = 0
    }

    /// One subscriber: its topics and the number of unconfirmed ones.
    private struct Subscriber {
        let topics: Set<RedisTopic>
        var unconfirmed: Int
        /// Whether it was confirmed on an earlier connection, so that a gap precedes the next
        /// confirmation.
        var wasConfirmed = false
    }

    private var topics: [RedisTopic: Topic] = [:]
    private var subscribers: [UInt64: Subscriber] = [:]
    private var sent = Deque<(command: Sent, at: RedisInstant)>()
    private var nextGeneration: UInt64 = 0
    private var isConnected = false

    /// Adds a subscription.
    ///
    /// Returns the commands to write and, if all topics are confirmed already, the events to
    /// deliver.
    mutating func add(
        _ id: UInt64,
        topics wanted: Set<RedisTopic>,
        now: RedisInstant
    ) -> (write: [RedisCommand], deliver: [Delivery]) {
        var commands: [RedisCommand] = []
        var unconfirmed = 0
        for name in wanted {
            var topic = topics[name] ?? Topic()
            if topic.subscribers.isEmpty, isConnected {
                commands.append(subscribe(name, &topic, now))
            }
            topic.subscribers.insert(id)
            if !topic.isConfirmed { unconfirmed += 1 }
            topics[name] = topic
        }
        var subscriber = Subscriber(topics: wanted, unconfirmed: unconfirmed)
        let isConfirmed = isConnected && unconfirmed == 0
        subscriber.wasConfirmed = isConfirmed
        subscribers[id] = subscriber
        let delivery = Delivery(subscribers: [id], events: [.subscribed])
        return (commands, isConfirmed ? [delivery] : [])
    }

    /// Removes a subscription.
    ///
    /// Returns the commands to write.
    mutating func remove(_ id: UInt64, now: RedisInstant) -> [RedisCommand] {
        guard let subscriber = subscribers.removeValue(forKey: id) else { return [] }
        var commands: [RedisCommand] = []
        for name in subscriber.topics {
            topics[name]?.subscribers.remove(id)
            guard topics[name]?.subscribers.isEmpty == true else { continue }
            topics[name] = nil
            if isConnected {
                commands.append(name.unsubscribe)
                sent.append((.unsubscribe, now))
            }
        }
        return commands
    }

    /// A connection is ready.
    ///
    /// Returns the commands to write.
    mutating func connected(now: RedisInstant) -> [RedisCommand] {
        isConnected = true
        return topics.keys.map { name in
            var topic = topics[name] ?? Topic()
            defer { topics[name] = topic }
            return subscribe(name, &topic, now)
        }
    }

    /// The connection is lost, so no topic is confirmed any more.
    mutating func disconnected() {
        isConnected = false
        sent = []
        for name in topics.keys { topics[name]?.isConfirmed = false }
        for (id, subscriber) in subscribers {
            subscribers[id]?.unconfirmed = subscriber.topics.count
        }
    }

    /// Returns a `PING`, or `nil` if a command has been unanswered since `since`, so that the
    /// server counts as dead.
    mutating func ping(now: RedisInstant, unansweredSince since: RedisInstant) -> RedisCommand? {
        if let oldest = sent.first, oldest.at <= since { return nil }
        sent.append((.ping, now))
        return RedisCommand("PING")
    }

    /// A reply or a message has arrived.
    mutating func receive(_ value: RedisValue) -> Received {
        if let error = value.error {
            guard case .subscribe(let topic, _)? = sent.popFirst()?.command else { return .nothing }
            return .refused(topic, error)
        }
        // Before the first SUBSCRIBE, the reply to a PING is a status.
        if case .simpleString = value { return answered() }
        guard let parts = value.array, let kind = parts.first?.string else {
            return .malformed("neither a message nor an answer to a subscription")
        }
        switch (kind, parts.count) {
        case ("message", 3):
            return message(.channel(parts[1].string ?? ""), nil, parts[1], parts[2])
        case ("pmessage", 4):
            let pattern = parts[1].string ?? ""
            return message(.pattern(pattern), pattern, parts[2], parts[3])
        case ("subscribe", 3), ("psubscribe", 3), ("unsubscribe", 3), ("punsubscribe", 3),
            ("pong", 2):
            return answered()
        default: return .malformed("a message of unknown kind")
        }
    }

    private mutating func subscribe(
        _ name: RedisTopic,
        _ topic: inout Topic,
        _ now: RedisInstant
    ) -> RedisCommand {
        nextGeneration += 1
        topic.generation = nextGeneration
        sent.append((.subscribe(name, generation: nextGeneration), now))
        return name.subscribe
    }

    /// The oldest command has its reply.
    ///
    /// Returns events for each subscriber whose last topic this confirms.
    private mutating func answered() -> Received {
        guard let oldest = sent.popFirst() else {
            return .malformed("an answer to a command that was not sent")
        }
        guard case .subscribe(let name, let generation) = oldest.command,
            var topic = topics[name], topic.generation == generation
        else { return .nothing }
        topic.isConfirmed = true
        topics[name] = topic
        var deliveries: [Delivery] = []
        for id in topic.subscribers {
            guard var subscriber = subscribers[id] else { continue }
            subscriber.unconfirmed -= 1
            if subscriber.unconfirmed == 0 {
                deliveries.append(
                    Delivery(
                        subscribers: [id],
                        events: subscriber.wasConfirmed ? [.gap, .subscribed] : [.subscribed]
                    )
                )
                subscriber.wasConfirmed = true
            }
            subscribers[id] = subscriber
        }
        return deliveries.isEmpty ? .nothing : .deliver(deliveries)
    }

    private func message(
        _ name: RedisTopic,
        _ pattern: String?,
        _ channel: RedisValue,
        _ payload: RedisValue
    ) -> Received {
        guard let bytes = payload.bytes, let channel = channel.string else {
            return .malformed("a message without text")
        }
        // A message may still arrive for a topic that was unsubscribed just now.
        guard let topic = topics[name] else { return .nothing }
        let event = RedisPubSubEvent.message(
            channel: channel,
            pattern: pattern,
            payload: ByteBuffer(bytes: bytes)
        )
        return .deliver([Delivery(subscribers: topic.subscribers, events: [event])])
    }
}
