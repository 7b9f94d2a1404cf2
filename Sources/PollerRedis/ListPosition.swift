import Poller

/// Where a listing stands: the partition, the phase in it, and the last item of the page before.
///
/// *Shape* as cursor: base64url of `partition|phase|lane|score|id`. It holds nothing secret and
/// a forged one only lists from elsewhere.
struct ListPosition: Hashable {
    var partition: Int
    /// `r` leased, `z` waiting, `h` closed, `x` quarantined.
    var phase: String
    var lane: String
    var score: String
    var id: String

    /// The start of a listing, or the place a cursor names; nil for a cursor that is none of ours.
    init?(cursor: String?, state: ListQuery.State?) {
        guard let cursor else {
            self.init(partition: 0, state: state)
            return
        }
        guard let bytes = Base64URL.decode(cursor) else { return nil }
        let parts = Packed.split(String(decoding: bytes, as: UTF8.self))
        guard parts.count == 5, let partition = Int(parts[0]), partition >= 0,
            ["r", "z", "h", "x"].contains(parts[1])
        else { return nil }
        self.init(partition: partition, state: nil)
        (phase, lane, score, id) = (parts[1], parts[2], parts[3], parts[4])
    }

    /// The start of a listing of deliveries, or the place a cursor names; nil for a cursor that is
    /// none of ours.
    ///
    /// In `home` alone when they are those of one endpoint.
    init?(cursor: String?, of state: DeliverySnapshot.State?, in home: Int?) {
        self.init(cursor: cursor, state: state == .done ? .closed : .open)
        if cursor == nil { partition = home ?? 0 }
        if let home, partition != home { return nil }
    }

    private init(partition: Int, state: ListQuery.State?) {
        self.partition = partition
        phase =
            switch state {
            case .closed: "h"
            case .quarantined: "x"
            case .open, nil: "r"
            }
        (lane, score, id) = ("", "", "")
    }

    var cursor: String {
        Base64URL.encode(Packed.join([String(partition), phase, lane, score, id]).utf8)
    }

    /// The position list.lua answered: {phase, lane, score, id}.
    ///
    /// An exhausted partition is followed by the next; with `afterOpen`, those in that phase of all
    /// partitions from `home` on follow the open ones of all.
    func following(
        _ reply: [String],
        afterOpen: String?,
        partitions: Int,
        home: Int = 0
    ) -> ListPosition? {
        var next = self
        (next.phase, next.lane, next.score, next.id) = (reply[0], reply[1], reply[2], reply[3])
        guard next.phase.isEmpty else { return next }
        next.phase = phase == "z" ? "r" : phase
        next.partition += 1
        if next.partition < partitions { return next }
        if let afterOpen, next.phase == "r" {
            (next.partition, next.phase) = (home, afterOpen)
            return next
        }
        return nil
    }
}
