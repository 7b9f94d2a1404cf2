/// The events of the last thirty days, numbered in the order they happened.
struct EventLog {
    /// Events kept, the oldest going first: more than one test run makes.
    static let eventsMax = 100_000

    /// How long Stripe lists an event, in seconds.
    static let lifeSeconds = 30 * 24 * 3600

    private var ring = RingBuffer<SandboxEvent>(capacity: EventLog.eventsMax)
    private var numbers: [String: Int] = [:]

    /// The numbers in use, oldest first.
    var all: Range<Int> { ring.first..<ring.next }

    subscript(number: Int) -> SandboxEvent? { ring[number] }

    func number(of id: String) -> Int? { numbers[id] }

    mutating func append(_ event: SandboxEvent) {
        if let oldest = ring[ring.next - Self.eventsMax] {
            numbers.removeValue(forKey: oldest.id)
        }
        numbers[event.id] = ring.append(event)
    }

    /// Notes that an endpoint took an event.
    mutating func delivered(_ id: String, to endpoint: String) {
        guard let number = numbers[id], var event = ring[number] else { return }
        event.pending.removeAll { $0 == endpoint }
        ring[number] = event
    }
}
