import HTTPTypes

/// The first answers to idempotency keys, and the keys being worked on; each account has its own.
struct IdempotencyTable {
    /// Stored answers; the oldest go first.
    static let recordsMax = 100_000

    /// How long Stripe keeps an answer at least.
    static let lifeMs: Int64 = 24 * 3600 * 1000

    private var records: [String: IdempotencyRecord] = [:]
    private var order = RingBuffer<String>(capacity: IdempotencyTable.recordsMax)
    private var running: Set<String> = []

    /// What the table calls the key of a call; nil when it has none, or the method takes none.
    static func name(of call: APICall) -> String? {
        guard call.method == .post, let key = call.idempotencyKey else { return nil }
        return "\(call.account ?? "")\n\(key)"
    }

    func isRunning(_ name: String) -> Bool { running.contains(name) }

    mutating func begin(_ name: String) { running.insert(name) }

    mutating func end(_ name: String) { running.remove(name) }

    /// The stored answer; nil when there is none, or it is older than a day.
    func record(_ name: String, nowMs: Int64) -> IdempotencyRecord? {
        guard let record = records[name], nowMs - record.storedMs < Self.lifeMs else { return nil }
        return record
    }

    mutating func store(_ record: IdempotencyRecord, as name: String) {
        if let oldest = order[order.next - Self.recordsMax] { records.removeValue(forKey: oldest) }
        order.append(name)
        records[name] = record
    }
}
