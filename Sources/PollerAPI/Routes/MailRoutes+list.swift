import Hummingbird
import PollerDeliveries
import PollerIdentity
import PollerOperations
import PollerQueue
import PollerWire

/// The list of suppressed recipients, and lifting a suppression by its ID.
///
/// The store has a digest of each address and a masked form of it (``SuppressionNote``). So a person can recognise a
/// recipient in the list, but the list contains no addresses.
extension MailRoutes {
    private static let list = Route(
        .get,
        "/v1/mail/suppressions",
        "listSuppressions",
        "List suppressed email recipients, newest first",
        """
        Addresses are masked (j…e@example.com). The address of a recipient who used the link of an earlier email \
        is unknown. GET /v1/mail/suppressions/{recipient} finds a recipient by the whole address.
        """,
        access: .key(.readMail),
        input: .all(.limit("Recipients per page."), .cursor()) { (limit: $0, cursor: $1) },
        answers: [.ok("A page of recipients.", "SuppressionListEntryPage")],
        problems: [404]
    )
    private static let liftEntry = Route(
        .delete,
        "/v1/mail/entries/{suppression}",
        "liftSuppressionEntry",
        "Remove a recipient from the suppression list",
        access: .key(.writeMail),
        input: .suppression,
        idempotency: .inherent("a removed recipient stays removed"),
        answers: [.ok("The entry that was removed.", "SuppressionListEntry")],
        problems: [404]
    )

    /// The routes of this file.
    var entries: [AnsweredRoute] {
        [Self.list.answered(by: list), Self.liftEntry.answered(by: liftEntry)]
    }

    private func list(
        _ wanted: (limit: Int, cursor: String?),
        _ context: APIContext
    ) async throws -> Response {
        let page = try await mailPreferences().suppressions.suppressed(
            limit: wanted.limit,
            cursor: wanted.cursor
        )
        return Response(page.wire(for: context) { SuppressionListEntry($0) })
    }

    private func liftEntry(
        _ entry: SuppressionEntry,
        _ context: APIContext
    ) async throws -> Response {
        let suppressions = try mailPreferences().suppressions
        let target = AuditTarget(.suppression, entry.id.description)
        let removed = try await context.changes.attempt(target, of: nil) {
            () throws(StoreError) in try await suppressions.lift(entry)
        }
        guard let lifted = removed else {
            throw Problem(
                .entryNotFound,
                "No recipient of the list has the ID \(entry.id); GET "
                    + "/v1/mail/suppressions lists them."
            )
        }
        context.changes.recordAction(
            target,
            of: lifted.note.account,
            from: ["suppressed": "true", "reason": lifted.reason.rawValue],
            to: ["suppressed": "false", "reason": ""]
        )
        return Response(SuppressionListEntry(lifted))
    }
}

extension SuppressionListEntry {
    /// Creates the API representation of an entry.
    fileprivate init(_ suppressed: SuppressedRecipient) {
        self.init()
        id = suppressed.entry.id.description
        recipient = suppressed.note.recipient
        account = suppressed.note.account?.description
        reason = Open(rawValue: suppressed.reason.rawValue)
        since = suppressed.note.at.ms > 0 ? Time(suppressed.note.at) : nil
    }
}

extension RouteInput where Value == SuppressionEntry {
    /// The entry in the path.
    fileprivate static var suppression: Self {
        let named = RouteInput<String>.segment(
            "suppression",
            "The ID of a list entry.",
            .matching("^[A-Za-z0-9_-]{12}$")
        )
        return Self(named.parameters) { values throws(Problem) in
            let text = try named.read(values)
            let isID =
                text.utf8.count == 12
                && text.utf8.allSatisfy { byte in
                    (0x61...0x7A).contains(byte | 0x20) || (0x30...0x39).contains(byte)
                        || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "-")
                }
            guard isID else {
                throw Problem.parameter(
                    "suppression",
                    "must be the ID of an entry in GET /v1/mail/suppressions."
                )
            }
            return SuppressionEntry(id: ItemID(unchecked: text))
        }
    }
}
