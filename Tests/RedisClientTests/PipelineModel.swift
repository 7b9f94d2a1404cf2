import NIOCore

@testable import RedisClient

/// Drives ``RedisPipelineState`` with random events beside a server that answers each command with
/// the number of the request it belongs to.
struct PipelineModel {
    var state: RedisPipelineState<Int>
    var now: RedisInstant
    private(set) var problems: [String] = []
    private(set) var answered = 0
    private var nextWaiter = 0
    private var open: [Int: UInt64] = [:]
    /// What the server has received and not answered.
    private var server: [Int] = []

    init(state: RedisPipelineState<Int>, now: RedisInstant) {
        self.state = state
        self.now = now
    }

    mutating func step(using random: inout SeededGenerator) {
        switch Int.random(in: 0..<20, using: &random) {
        case 0..<8: submit(commands: Int.random(in: 1...3, using: &random))
        case 8..<11: write()
        case 11..<16: answer()
        case 16..<18:
            if let (waiter, id) = open.min(by: { $0.key % 7 < $1.key % 7 }) {
                settle(state.cancel(id), expected: waiter)
            }
        case 18:
            now = now + .milliseconds(Int.random(in: 0...2_000, using: &random))
            let expiry = state.expire(now: now)
            for failure in expiry.failures { settle(failure.waiter) }
            if expiry.isStalled { lose() }
        default: lose()
        }
    }

    /// Answers everything; whoever is still open then was forgotten.
    mutating func finish() {
        write()
        while !server.isEmpty { answer() }
        if !open.isEmpty { problems.append("forgotten: \(open.keys.sorted())") }
        if state.commands != 0 || state.bytes != 0 { problems.append("limits leak") }
        if state.nextExpiry != nil { problems.append("expiry without requests") }
    }

    private mutating func submit(commands: Int) {
        nextWaiter += 1
        var wire = ByteBuffer()
        for _ in 0..<commands { wire.writeInteger(UInt32(nextWaiter)) }
        if let id = state.submit(nextWaiter, wire: wire, commands: commands, now: now) {
            open[nextWaiter] = id
        }
    }

    private mutating func write() {
        var buffer = ByteBuffer()
        state.write(into: &buffer, bytesMax: 10_000, now: now)
        while let waiter = buffer.readInteger(as: UInt32.self) { server.append(Int(waiter)) }
    }

    private mutating func answer() {
        guard !server.isEmpty else { return }
        let waiter = server.removeFirst()
        switch state.receive(.integer(Int64(waiter))) {
        case .accepted: break
        case .unexpected: problems.append("reply to \(waiter) was not expected")
        case .complete(let receiver, let replies):
            answered += 1
            for reply in replies where reply != .integer(Int64(receiver)) {
                problems.append("\(receiver) got \(reply)")
            }
            settle(receiver)
        }
    }

    private mutating func lose() {
        server = []
        for failure in state.connectionLost(first: nil) { settle(failure.waiter) }
    }

    private mutating func settle(_ waiter: Int?, expected: Int? = nil) {
        guard let waiter, expected == nil || expected == waiter,
            open.removeValue(forKey: waiter) != nil
        else {
            problems.append("settled \(String(describing: waiter)) wrongly")
            return
        }
    }
}
