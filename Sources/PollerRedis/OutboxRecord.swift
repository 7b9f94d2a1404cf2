import Poller
import RedisClient

/// An event that is named by its place in the log of its item.
struct RecordedEvent {
    let item: String
    let lane: LaneID
    let seq: Int
}

/// An entry of the outbox as its stream has it.
///
/// *Shape*: ``OutboxField``.
struct OutboxRecord {
    /// `<ms>-<n>`.
    let id: String
    private(set) var item = ""
    /// The event's number in the log of its item; nil of one that stands here.
    private(set) var seq: Int?
    private(set) var stored: [UInt8]?
    /// The lane of the item; empty where it is not said.
    private(set) var lane = ""
    private var urls = ""

    /// Reads an entry of XRANGE or XREADGROUP; nil when it is none.
    init?(_ value: RedisValue) {
        guard let parts = value.array, parts.count == 2, let id = parts[0].string else {
            return nil
        }
        self.id = id
        let fields = parts[1].array ?? []
        for index in stride(from: 0, to: fields.count - 1, by: 2) {
            let value = fields[index + 1]
            switch fields[index].string.flatMap(OutboxField.init(rawValue:)) {
            case .item: item = value.string ?? ""
            case .event, .packed: stored = value.bytes
            case .notify: urls = value.string ?? ""
            case .seq: seq = value.count
            case .lane: lane = value.string ?? ""
            case nil: break
            }
        }
    }

    /// What it tells; nil when that is not understood, or gone.
    ///
    /// `told` is what recorded.lua answers of it, where it has but a number.
    func entry(_ partition: Int, told: RedisValue?) -> OutboxEntry? {
        if let seq {
            let event = Self.event(seq, told)
            return event.map { entry($0, partition, told?.array?.last?.string ?? "") }
        }
        guard let stored, let event = PackedEvent.event(stored, of: nil) else { return nil }
        return entry(event, partition, urls)
    }

    /// The event of that number that recorded.lua has answered; nil when it is gone.
    static func event(_ seq: Int, _ told: RedisValue?) -> Event? {
        guard let told = told?.array, told.count == 4, let stored = told[0].bytes else {
            return nil
        }
        let key = key(source: told[1].string ?? "", lane: told[2].string ?? "")
        return PackedEvent.events(stored, of: key).first { $0.seq == seq }
    }

    private func entry(_ event: Event, _ partition: Int, _ urls: String) -> OutboxEntry {
        OutboxEntry(id: id, partition: partition, event: event, notify: Self.notify(urls))
    }

    /// Whose an event is; nil of what is no watch.
    static func key(source: String, lane: String) -> WatchKey? {
        guard let (account, kind) = LaneID(unchecked: lane).accountAndKind else { return nil }
        return WatchKey(account: account, source: SourceID(unchecked: source), kind: kind)
    }

    /// Reads URLs this system checked when it stored them.
    static func notify(_ text: String) -> [NotifyURL] {
        text.split(separator: "\n").compactMap { try? NotifyURL(recorded: String($0)) }
    }
}
