import Testing

@testable import PollerGateway

@Suite("The outbound queue of a client")
struct OutboundQueueTests {
    private let limits = GatewayLimits(queueMessagesMax: 3, queueBytesMax: 10)

    @Test("the queue has a limit of frames and of bytes, and always accepts one frame")
    func room() {
        var queue = OutboundQueue(limits)
        queue.append(.text("a frame larger than all bytes"))
        #expect(!queue.hasRoom)
        #expect(queue.take() == .text("a frame larger than all bytes"))
        #expect(queue.hasRoom)
        for _ in 1...3 { queue.append(.ping) }
        #expect(!queue.hasRoom)
        _ = queue.take()
        #expect(queue.hasRoom)
        queue.append(.text("0123456789"))
        #expect(!queue.hasRoom)
        #expect(!queue.isHalfEmpty)
    }

    @Test("frames are taken in order")
    func order() {
        var queue = OutboundQueue(limits)
        for text in ["a", "b", "c"] { queue.append(.text(text)) }
        #expect(queue.take() == .text("a"))
        queue.append(.text("d"))
        #expect(
            [queue.take(), queue.take(), queue.take()] == [.text("b"), .text("c"), .text("d")]
        )
        #expect(queue.take() == nil)
    }

    @Test(
        "the final frames are accepted over the limit, and no frame is accepted after them",
        arguments: [false, true]
    )
    func goodbye(discarding: Bool) {
        var queue = OutboundQueue(limits)
        for _ in 1...3 { queue.append(.text("abc")) }
        queue.finish(with: [.text("bye"), .close(.draining, reason: "")], discarding: discarding)
        queue.append(.ping)
        queue.finish(with: [.text("again")], discarding: true)
        var taken: [OutboundFrame] = []
        while let frame = queue.take() { taken.append(frame) }
        #expect(taken.count == (discarding ? 2 : 5))
        #expect(taken.suffix(2) == [.text("bye"), .close(.draining, reason: "")])
        #expect(queue.isEmpty && queue.isFinished)
    }
}

@Suite("The deadlines of an event loop")
struct DeadlineWheelTests {
    @Test("a deadline beyond the representable range is never due")
    func farDeadlines() {
        var wheel = DeadlineWheel()
        for deadline in [Duration.seconds(Int64.max / 1000), .milliseconds(Int64.max)] {
            wheel.add(1, at: DeadlineWheel.tenth(of: deadline))
        }
        #expect(wheel.due(now: .seconds(3600)).isEmpty)
        #expect(!wheel.isEmpty)
    }

    @Test("a connection is due in its tenth of a second and not earlier")
    func asks() {
        var wheel = DeadlineWheel()
        wheel.add(1, at: DeadlineWheel.tenth(of: .milliseconds(250)))
        wheel.add(2, at: DeadlineWheel.tenth(of: .milliseconds(300)))
        wheel.add(3, at: DeadlineWheel.tenth(of: .seconds(600)))
        #expect(wheel.due(now: .milliseconds(299)).isEmpty)
        #expect(wheel.due(now: .milliseconds(300)) == [1, 2])
        #expect(wheel.due(now: .milliseconds(320)).isEmpty)
        #expect(!wheel.isEmpty)
        #expect(wheel.due(now: .seconds(601)) == [3])
        #expect(wheel.isEmpty)
    }

    @Test("an overdue deadline is due in the next tenth, and a long pause skips none")
    func late() {
        var wheel = DeadlineWheel()
        #expect(wheel.due(now: .seconds(10)).isEmpty)
        wheel.add(1, at: DeadlineWheel.tenth(of: .seconds(1)))
        #expect(wheel.due(now: .milliseconds(10_100)) == [1])
        for number in 1...20 {
            wheel.add(number, at: DeadlineWheel.tenth(of: .seconds(10 + number)))
        }
        #expect(wheel.due(now: .seconds(3600)) == Array(1...20))
        #expect(wheel.isEmpty)
    }
}
