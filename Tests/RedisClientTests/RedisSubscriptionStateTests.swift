import NIOCore
import Testing

@testable import RedisClient

@Suite struct RedisSubscriptionStateTests {
    private let now = RedisInstant(uptimeNs: 1_000_000_000)
    private var state = RedisSubscriptionState()

    private func text(_ text: String) -> RedisValue { .bulk(Array(text.utf8)) }

    private func answer(_ kind: String, _ name: String) -> RedisValue {
        .array([text(kind), text(name), .integer(1)])
    }

    private func subscribed(_ id: UInt64) -> RedisSubscriptionState.Received {
        .deliver([.init(subscribers: [id], events: [.subscribed])])
    }

    @Test("a subscription is confirmed when the last of its topics is")
    mutating func confirmation() {
        #expect(state.add(1, topics: [.channel("a"), .pattern("p*")], now: now).write.isEmpty)
        let commands = state.connected(now: now)
        #expect(Set(commands.map(\.name)) == ["SUBSCRIBE", "PSUBSCRIBE"])
        let kinds = commands.map { $0.name.lowercased() }
        #expect(state.receive(answer(kinds[0], "x")) == .nothing)
        #expect(state.receive(answer(kinds[1], "x")) == subscribed(1))
    }

    @Test("a new subscription to a confirmed topic is confirmed at once, without a command")
    mutating func shared() {
        _ = state.connected(now: now)
        #expect(state.add(1, topics: [.channel("a")], now: now).write.map(\.name) == ["SUBSCRIBE"])
        _ = state.receive(answer("subscribe", "a"))
        let second = state.add(2, topics: [.channel("a")], now: now)
        #expect(second.write.isEmpty)
        #expect(second.deliver == [.init(subscribers: [2], events: [.subscribed])])
        let message = RedisValue.array([text("message"), text("a"), text("hi")])
        let event = RedisPubSubEvent.message(
            channel: "a",
            pattern: nil,
            payload: ByteBuffer(string: "hi")
        )
        #expect(
            state.receive(message) == .deliver([.init(subscribers: [1, 2], events: [event])])
        )
        #expect(state.remove(1, now: now).isEmpty, "the other is still subscribed")
        #expect(state.remove(2, now: now).map(\.name) == ["UNSUBSCRIBE"])
        #expect(state.receive(message) == .nothing, "a message on its way is dropped")
    }

    @Test("after a reconnect a gap precedes the confirmation")
    mutating func reconnect() {
        _ = state.connected(now: now)
        _ = state.add(1, topics: [.channel("a")], now: now)
        #expect(state.receive(answer("subscribe", "a")) == subscribed(1))
        state.disconnected()
        #expect(state.add(2, topics: [.channel("a")], now: now).deliver.isEmpty)
        #expect(state.connected(now: now).count == 1)
        guard case .deliver(let deliveries) = state.receive(answer("subscribe", "a")) else {
            return fail("not confirmed")
        }
        #expect(
            Set(deliveries) == [
                .init(subscribers: [1], events: [.gap, .subscribed]),
                .init(subscribers: [2], events: [.subscribed]),
            ]
        )
    }

    @Test("the reply to an earlier SUBSCRIBE does not confirm a later one")
    mutating func resubscribe() {
        _ = state.connected(now: now)
        _ = state.add(1, topics: [.channel("a")], now: now)
        _ = state.remove(1, now: now)
        _ = state.add(2, topics: [.channel("a")], now: now)
        #expect(state.receive(answer("subscribe", "a")) == .nothing)
        #expect(state.receive(answer("unsubscribe", "a")) == .nothing)
        #expect(state.receive(answer("subscribe", "a")) == subscribed(2))
    }

    @Test("a rejected topic is reported and affects no other")
    mutating func refused() {
        _ = state.connected(now: now)
        _ = state.add(1, topics: [.channel("a")], now: now)
        _ = state.add(2, topics: [.channel("b")], now: now)
        let error = RedisReplyError(line: "NOPERM no")
        #expect(state.receive(.error(error)) == .refused(.channel("a"), error))
        #expect(state.receive(answer("subscribe", "b")) == subscribed(2))
    }

    @Test("a message of a pattern has the pattern and the channel")
    mutating func pattern() {
        _ = state.connected(now: now)
        _ = state.add(1, topics: [.pattern("e:*")], now: now)
        let message = RedisValue.array([text("pmessage"), text("e:*"), text("e:1"), text("x")])
        let event = RedisPubSubEvent.message(
            channel: "e:1",
            pattern: "e:*",
            payload: ByteBuffer(string: "x")
        )
        #expect(state.receive(message) == .deliver([.init(subscribers: [1], events: [event])]))
    }

    @Test("an unanswered PING means that the server is dead")
    mutating func ping() {
        _ = state.connected(now: now)
        #expect(state.ping(now: now, unansweredSince: now) != nil)
        #expect(state.ping(now: now + .seconds(9), unansweredSince: now) == nil)
        #expect(state.receive(.array([text("pong"), text("")])) == .nothing)
        #expect(state.ping(now: now + .seconds(9), unansweredSince: now) != nil)
        #expect(state.receive(.simpleString("PONG")) == .nothing)
    }

    @Test(
        "a value that is neither a reply nor a message is malformed",
        arguments: [
            RedisValue.integer(1), .null, .array([]), .array([.integer(1)]),
            .array([.bulk(Array("message".utf8)), .null]), .simpleString("PONG"),
        ]
    )
    func malformed(value: RedisValue) {
        var state = state
        _ = state.connected(now: now)
        guard case .malformed = state.receive(value) else { return fail("accepted \(value)") }
    }
}

@Suite(.timeLimit(.minutes(5))) struct RedisSubscriptionBufferTests {
    private func message(_ text: String) -> RedisPubSubEvent {
        .message(channel: "c", pattern: nil, payload: ByteBuffer(string: text))
    }

    @Test("a slow consumer loses the oldest events and receives one gap")
    func overflow() async {
        let buffer = RedisSubscriptionBuffer(eventsMax: 2, bytesMax: 100)
        for text in ["1", "2", "3", "4"] { buffer.push(message(text)) }
        buffer.end()
        #expect(await buffer.next() == .gap)
        #expect(await buffer.next() == message("3"))
        #expect(await buffer.next() == message("4"))
        #expect(await buffer.next() == nil)
    }

    @Test("a dropped confirmation is sent again after the gap")
    func confirmation() async {
        let buffer = RedisSubscriptionBuffer(eventsMax: 2, bytesMax: 100)
        for event in [.subscribed, message("1"), message("2")] { buffer.push(event) }
        #expect(await buffer.next() == .gap)
        #expect(await buffer.next() == .subscribed)
        #expect(await buffer.next() == message("1"))
    }

    @Test("bytes are bounded too, but one message always fits")
    func bytes() async {
        let buffer = RedisSubscriptionBuffer(eventsMax: 10, bytesMax: 4)
        buffer.push(message("aaa"))
        buffer.push(message("bbbbbb"))
        #expect(await buffer.next() == .gap)
        #expect(await buffer.next() == message("bbbbbb"))
        buffer.push(message("cc"))
        #expect(await buffer.next() == message("cc"))
    }

    @Test("cancelling the consumer ends the sequence")
    func cancellation() async {
        let buffer = RedisSubscriptionBuffer(eventsMax: 1, bytesMax: 1)
        let consumer = Task { await buffer.next() }
        consumer.cancel()
        #expect(await consumer.value == nil)
    }
}
