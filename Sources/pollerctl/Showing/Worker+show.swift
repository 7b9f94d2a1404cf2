import Foundation
import PollerClient

extension Worker {
    /// The columns of ``row``.
    static var table: Table {
        Table("HOST", "PID", "ROLES", "IN HAND", "UP SINCE", "VERSION", "ID")
    }

    /// The process as a row of a list.
    var row: [Table.Cell] {
        [
            .init(host, .strong), .init("\(pid)"), .init(roles.joined(separator: ",")),
            .init("\(inFlight)"), .init(startedAt.shown), .init(version), .init(id, .faint),
        ]
    }
}
