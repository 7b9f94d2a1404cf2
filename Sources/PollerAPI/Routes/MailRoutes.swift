import Foundation
import Hummingbird
import PollerDeliveries
import PollerIdentity
import PollerOperations
import PollerQueue
import PollerWire

/// Bounced emails reported by the relay, and the suppressed recipients.
///
/// A mailbox that does not exist is missing for every account, so hard bounces and complaints apply to all accounts. An
/// unsubscription applies to one shop. Large providers soon classify a sender to dead addresses as a spammer, so the
/// list is checked before each email.
struct MailRoutes {
    private static let report = Route(
        .post,
        "/v1/mail/bounces",
        "reportBounce",
        "Report a bounced email or a complaint",
        """
        For the relay's bounce processing. A hard bounce or a complaint suppresses the recipient at once, for all \
        accounts. A soft bounce is only counted.
        """,
        access: .key(.writeMail),
        idempotency: .inherent("a second report has no further effect"),
        body: .json(.shape("Bounce")),
        answers: [.ok("Whether emails to the recipient are suppressed now.", "Suppression")],
        audit: .traffic("a relay reports thousands of bounces; suppressions record the reason")
    )
    private static let read = Route(
        .get,
        "/v1/mail/suppressions/{recipient}",
        "getSuppression",
        "Check whether emails to a recipient are suppressed, and why",
        access: .key(.readMail),
        input: .recipient,
        answers: [.ok("Suppressed or not.", "Suppression")]
    )
    private static let lift = Route(
        .delete,
        "/v1/mail/suppressions/{recipient}",
        "liftSuppression",
        "Resume emails to a recipient",
        access: .key(.writeMail),
        input: .recipient,
        idempotency: .inherent("a removed suppression stays removed"),
        answers: [.ok("No longer suppressed.", "Suppression")]
    )

    let preferences: MailPreferences?
    let reader: BodyReader
    /// Returns the current time, for new entries.
    let now: @Sendable () -> Timestamp

    var routes: [AnsweredRoute] {
        [
            Self.report.answered(by: report), Self.read.answered(by: read),
            Self.lift.answered(by: lift),
        ] + entries
    }

    /// Suppresses a recipient after a bounce.
    ///
    /// Reporting a bounce twice is harmless.
    private func report(
        _: Void,
        _ request: Request,
        _ context: APIContext
    ) async throws -> Response {
        let bounce = try await reader.object(Bounce.self, of: request)
        let recipient = try Problem.checked { () throws(InvalidInput) in
            try MailAddress(bounce.recipient, field: "recipient")
        }
        guard let type = bounce.type?.known else {
            let known = Bounce.Kind.allCases.map(\.rawValue).joined(separator: ", ")
            throw Problem.value("type", "must be one of \(known).")
        }
        let preferences = try mailPreferences()
        // The relay retries after a soft bounce, so nothing changes here.
        if let reason = SuppressionReason(rawValue: type.rawValue) {
            try await preferences.suppressions.suppress(
                SuppressionEntry(everywhere: recipient),
                because: reason,
                noting: SuppressionNote(recipient: recipient, at: now())
            )
        }
        return try await answer(recipient, of: .main)
    }

    private func read(_ named: MailRecipient, _ context: APIContext) async throws -> Response {
        try await answer(named.address, of: named.account)
    }

    private func lift(_ named: MailRecipient, _ context: APIContext) async throws -> Response {
        let suppressions = try mailPreferences().suppressions
        let before = try await shown(named.address, of: named.account)
        // The address is personal data, and its digest is enough to find the entry.
        let target = AuditTarget(
            .suppression,
            SuppressionEntry(named.address, of: named.account).id.description
        )
        try await context.changes.attempt(target, of: nil, isSent: before.isSuppressed) {
            () throws(StoreError) in try await suppressions.lift(named.address, of: named.account)
        }
        // Not read from the store: a failed read would leave the change without an entry.
        let after = Self.shown(named.address, because: nil)
        context.changes.recordChange(
            target,
            of: nil,
            from: before,
            to: after,
            only: ["suppressed", "reason"]
        )
        return Response(after)
    }

    private func answer(
        _ recipient: MailAddress,
        of account: AccountID
    ) async throws -> Response {
        Response(try await shown(recipient, of: account))
    }

    private func shown(
        _ recipient: MailAddress,
        of account: AccountID
    ) async throws -> Suppression {
        Self.shown(
            recipient,
            because: try await mailPreferences().suppressions.reason(for: recipient, of: account)
        )
    }

    private static func shown(
        _ recipient: MailAddress,
        because reason: SuppressionReason?
    ) -> Suppression {
        var answer = Suppression()
        answer.recipient = recipient.description
        answer.isSuppressed = reason != nil
        answer.reason = reason.map { Open(rawValue: $0.rawValue) }
        return answer
    }

    func mailPreferences() throws(Problem) -> MailPreferences {
        guard let preferences else {
            throw Problem(.notFound, "This server has no suppression list.")
        }
        return preferences
    }
}

/// The recipient of a request about suppressions.
private struct MailRecipient: Sendable {
    let address: MailAddress
    /// The account whose emails are suppressed.
    let account: AccountID
}

extension RouteInput where Value == MailRecipient {
    /// The address in the path and the account in the query.
    fileprivate static var recipient: Self {
        .all(
            .segment("recipient", "An email address.", .mailAddress),
            .account("The account of the emails. Default: default.")
        ) { text, account throws(Problem) in
            let address = try Problem.checked(.invalidParameter) { () throws(InvalidInput) in
                // Text with an invalid encoding is not an address either.
                try MailAddress(text.removingPercentEncoding ?? text, field: "recipient")
            }
            return MailRecipient(address: address, account: account)
        }
    }
}
