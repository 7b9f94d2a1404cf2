import JSONText
package import PollerIdentity
package import PollerPayments
import PollerQueue
package import PollerWire
import SafeNumbers

extension Order {
    /// The wire form, for responses, events and the store.
    package var wire: PollerWire.Order {
        let summary = summary
        var wire = PollerWire.Order()
        wire.order = key.order.description
        wire.account = key.account.description
        wire.payment = summary.payment.wire
        wire.paidBy = summary.paidBy?.source.description
        wire.alsoPaidBy =
            summary.alsoPaidBy.isEmpty ? nil : summary.alsoPaidBy.map(\.source.description)
        wire.seq = seq
        wire.createdAt = Time(ms: createdAt?.ms ?? 0)
        wire.members = members.map { member in
            var wire = PollerWire.Order.Member()
            wire.source = member.key.source.description
            wire.kind = Open(rawValue: member.key.kind.rawValue)
            wire.seq = member.seq
            wire.payment = member.payment.wire
            return wire
        }
        wire.charging = right.map { right in
            var wire = PollerWire.Order.Charging()
            wire.source = right.holder.source.description
            wire.kind = Open(rawValue: right.holder.kind.rawValue)
            wire.seq = right.seq
            wire.number = right.number
            return wire
        }
        return wire
    }

    /// The stored form: its version, a space, and the wire form with the times of the polls.
    ///
    /// `polled_ms` has the time of each member's last event, and `granted_ms` that of the right. Both are left out if
    /// no time is known, as in orders that an earlier release stored. `fresh` is the right's ``Right/isFresh``, left out
    /// if false. `grants` has the number of grants before the last right if that was released. An earlier release reads
    /// neither. It begins again at 1 then, which charges nothing twice: no earlier right has led to money.
    package var stored: String {
        let times = members.map(\.polledAt)
        var extra = ""
        if times.contains(where: { $0 != nil }) {
            let list = times.map { time in time.map { "\($0.ms)" } ?? "null" }
            extra += ",\"polled_ms\":[\(list.joined(separator: ","))]"
        }
        if let granted = right?.polledAt { extra += ",\"granted_ms\":\(granted.ms)" }
        if right?.isFresh == true { extra += ",\"fresh\":true" }
        if right == nil, grants > 0 { extra += ",\"grants\":\(grants)" }
        let json = wire.json
        return "\(version) " + (extra.isEmpty ? json : "\(json.dropLast())\(extra)}")
    }

    /// Parses ``stored``; `nil` for any other text.
    ///
    /// The values that the store counts itself are separate parameters.
    package init?(stored text: String, key: OrderKey, createdAt: Timestamp, seq: Int) {
        guard let space = text.firstIndex(of: " "), let version = Int(decimal: text[..<space]),
            let json = RawJSON(String(text[text.index(after: space)...])),
            // The parse error is of no use to a reader, because only this system writes orders.
            let wire = try? PollerWire.Order(reading: json)
        else { return nil }
        func name(_ source: String, _ kind: String) -> WatchKey {
            WatchKey(
                account: key.account,
                source: SourceID(unchecked: source),
                kind: SourceKind(recorded: kind)
            )
        }
        func time(_ json: RawJSON?) -> Timestamp? {
            (json?.number).flatMap { Int64(safe: $0) }.map { Timestamp(ms: $0) }
        }
        let times = (json.member("polled_ms")?.elements ?? []).map { time($0) }
        self.init(
            key: key,
            createdAt: createdAt,
            seq: seq,
            version: version,
            members: wire.members.enumerated().map { index, member in
                Member(
                    key: name(member.source, member.kind.rawValue),
                    seq: member.seq,
                    payment: Payment(member.payment),
                    polledAt: times.dropFirst(index).first ?? nil
                )
            },
            right: wire.charging.map { right in
                Right(
                    holder: name(right.source, right.kind.rawValue),
                    seq: right.seq,
                    number: right.number,
                    polledAt: time(json.member("granted_ms")),
                    isFresh: json.member("fresh")?.bool == true
                )
            },
            grants: json.member("grants")?.number.flatMap { Int(safe: $0) } ?? 0
        )
    }

    /// The order as an item of the queue, with its payment state as status, and its newest attempt as the last poll.
    package var watch: Watch {
        let began = createdAt ?? Timestamp(ms: 0)
        let state = WatchState(
            status: seq == 0 ? nil : status,
            lastPolledAt: members.compactMap(\.polledAt).max()
        )
        return Watch(
            key: key.watch,
            policy: .standard,
            createdAt: began,
            deadline: began,
            run: 1,
            seq: seq,
            order: key.order,
            state: state
        )
    }

    /// The memory for retention: how long the money of its members may change (`PaymentLifetime.changesUntil`), so that the
    /// order is kept as long as they are.
    package var memory: PaymentMemory? {
        let last = members.compactMap { member -> Timestamp? in
            guard member.payment.state.wasPaid, let paidAt = member.payment.paidAt else {
                return nil
            }
            let traits = member.payment.method?.traits ?? .unknown
            let reversible = traits.reversibleFor.map { paidAt + $0 }
            let decided = member.polledAt.flatMap { seen in
                member.payment.undecidedFor.map { seen + $0 }
            }
            return [reversible, decided].compactMap(\.self).max()
        }.max()
        return last.map { PaymentMemory(changesUntil: $0) }
    }

    private var status: SourceStatus { SourceStatus(unchecked: summary.payment.state.rawValue) }

    /// Returns the events for a change that a member's event caused, and counts them.
    ///
    /// The last of them has the order with all its members as its object.
    mutating func events(
        _ subjects: [EventSubject],
        since before: Order,
        because cause: Event
    ) -> [Event] {
        let known = Order(
            key: key,
            createdAt: createdAt ?? cause.polledAt,
            seq: before.seq,
            members: before.members
        )
        count(subjects.count, at: cause.polledAt)
        var watch = known.watch
        watch.trace = cause.trace
        return subjects.enumerated().map { index, subject in
            Event(
                watch: watch,
                of: subject,
                at: index,
                status: status,
                final: false,
                payment: summary.payment,
                isLive: cause.isLive,
                object: index == subjects.count - 1 ? RawJSON(unchecked: wire.json) : nil,
                polledAt: cause.polledAt,
                lag: .zero
            )
        }
    }
}
