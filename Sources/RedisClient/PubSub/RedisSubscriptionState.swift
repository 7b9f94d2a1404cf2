import DequeModule
import NIOCore

/// Something to subscribe to.
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

/// Who is subscribed to what on the one subscription connection, and what its replies mean.
///
/// Each topic has its own `SUBSCRIBE`, pipelined: a refused one (`NOPERM`) then harms no other, and
/// every command has exactly one reply, so the oldest unanswered command tells which topic a reply
/// or an error is about. Messages arrive in between and carry their topic.
///
/// A topic is confirmed when the reply to its *latest* `SUBSCRIBE` has come: after subscribe,
/// unsubscribe, subscribe the first reply says nothing about the last. No I/O, no clock.
struct RedisSubscriptionState {
    /// An event and the subscriptions it is for.
    struct Delivery: Hashable {
        let subscribers: Set<UInt64>
        let events: [RedisPubSubEvent]
    }

    /// What a reply means.
    enum Received: Hashable {
        case nothing
        case deliver([Delivery])
        /// A subscription is refused; it is tried again on the next connection.
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

    /// A channel or pattern, who wants it, and whether the server has confirmed it.
    private struct Topic {
        var subscribers: Set<UInt64> = []
        var isConfirmed = false
        /// Which `SUBSCRIBE` decides.
        var generation: UInt64 = 0
    }

    /// One subscriber: its topics, and how many are not confirmed yet.
    private struct Subscriber {
        let topics: Set<RedisTopic>
        var unconfirmed: Int
        /// Whether it has been confirmed on an earlier connection, so that a gap precedes the next.
        var wasConfirmed = false
    }

    private var topics: [RedisTopic: Topic] = [:]
    private var subscribers: [UInt64: Subscriber] = [:]
    private var sent = Deque<(command: Sent, at: RedisInstant)>()
    private var nextGeneration: UInt64 = 0
    private var isConnected = false

    /// Adds a subscription; returns what to write and, if all is confirmed already, what to deliver.
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

    /// Removes a subscription; returns what to write.
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

    /// A connection is ready; returns what to write.
    mutating func connected(now: RedisInstant) -> [RedisCommand] {
        isConnected = true
        return topics.keys.map { name in
            var topic = topics[name] ?? Topic()
            defer { topics[name] = topic }
            return subscribe(name, &topic, now)
        }
    }

    /// The connection is gone: nothing is confirmed any more.
    mutating func disconnected() {
        isConnected = false
        sent = []
        for name in topics.keys { topics[name]?.isConfirmed = false }
        for (id, subscriber) in subscribers {
            subscribers[id]?.unconfirmed = subscriber.topics.count
        }
    }

    /// Asks whether the server is alive; `nil` if an earlier command is unanswered since `since`, so
    /// that it is not.
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
        // Before the first SUBSCRIBE a PING is answered by a status.
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

    /// The oldest command is answered; tells everybody whose last topic this confirms.
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
        // A message may still come for what has just been unsubscribed.
        guard let topic = topics[name] else { return .nothing }
        let event = RedisPubSubEvent.message(
            channel: channel,
            pattern: pattern,
            payload: ByteBuffer(bytes: bytes)
        )
        return .deliver([Delivery(subscribers: topic.subscribers, events: [event])])
    }
}
