import NIOCore
import Testing

@testable import RedisClient

@Suite(.timeLimit(.minutes(1))) struct RedisSubscriptionBufferTests {
    private func message(_ text: String) -> RedisPubSubEvent {
        .message(channel: "c", pattern: nil, payload: ByteBuffer(string: text))
    }

    @Test("a slow consumer loses the oldest, and learns of it once")
    func overflow() async {
        let buffer = RedisSubscriptionBuffer(eventsMax: 2, bytesMax: 100)
        for text in ["1", "2", "3", "4"] { buffer.push(message(text)) }
        buffer.end()
        #expect(await buffer.next() == .gap)
        #expect(await buffer.next() == message("3"))
        #expect(await buffer.next() == message("4"))
        #expect(await buffer.next() == nil)
    }

    @Test("a lost confirmation is told again after the gap")
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
