import Foundation
import Hummingbird
import Poller
import PollerIdentity
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
        "Tell of a mail that came back or was complained about",
        """
        For the relay's bounce processing. A hard bounce and a complaint suppress the recipient at \
        once, for every account; a soft bounce is only counted.
        """,
        access: .key(.writeMail),
        repeats: .byNature("reported twice is as good as once"),
        body: .json(.shape("Bounce")),
        answers: [.ok("Whether mails to the recipient are suppressed now.", "Suppression")],
        audit: .traffic("a relay reports what came back, by the thousand; suppressions say why")
    )
    private static let look = Route(
        .get,
        "/v1/mail/suppressions/{recipient}",
        "getSuppression",
        "Whether mails to a recipient are suppressed, and why",
        access: .key(.readMail),
        input: .recipient,
        answers: [.ok("Suppressed or not.", "Suppression")]
    )
    private static let lift = Route(
        .delete,
        "/v1/mail/suppressions/{recipient}",
        "liftSuppression",
        "Send mails to a recipient again",
        access: .key(.writeMail),
        input: .recipient,
        repeats: .byNature("who is suppressed no longer stays so"),
        answers: [.ok("No longer suppressed.", "Suppression")]
    )

    let preferences: MailPreferences?
    let reader: BodyReader
    /// Returns the current time, for new entries.
    let now: @Sendable () -> Timestamp

    var routes: [AnsweredRoute] {
        [
            Self.report.answered(by: report), Self.look.answered(by: look),
            Self.lift.answered(by: lift),
        ] + entries
    }

    /// Suppresses a recipient after a bounce.
    ///
    /// Reporting a bounce twice is harmless.
    @Sendable
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
            throw Problem(.invalidValue, "type must be one of \(known).", field: "type")
        }
        let preferences = try known()
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

    @Sendable
    private func look(
        _ named: MailRecipient,
        _ request: Request,
        _ context: APIContext
    ) async throws -> Response {
        try await answer(named.address, of: named.account)
    }

    @Sendable
    private func lift(
        _ named: MailRecipient,
        _ request: Request,
        _ context: APIContext
    ) async throws -> Response {
        let before = try await shown(named.address, of: named.account)
        try await known().suppressions.lift(named.address, of: named.account)
        let after = try await shown(named.address, of: named.account)
        // The address is personal data, and its digest is enough to find the entry.
        context.changes.changed(
            AuditTarget(
                .suppression,
                SuppressionEntry(named.address, of: named.account).id.description
            ),
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
        let reason = try await known().suppressions.reason(for: recipient, of: account)
        var answer = Suppression()
        answer.recipient = recipient.description
        answer.isSuppressed = reason != nil
        answer.reason = reason.map { Open(rawValue: $0.rawValue) }
        return answer
    }

    func known() throws(Problem) -> MailPreferences {
        guard let preferences else {
            throw Problem(.notFound, "This server keeps no list of suppressed recipients.")
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
            .segment("recipient", "A mail address.", .mailAddress),
            .account("Whose mails; default when absent.")
        ) { text, account throws(Problem) in
            let address = try Problem.checked(.invalidParameter) { () throws(InvalidInput) in
                // Text with an invalid encoding is not an address either.
                try MailAddress(text.removingPercentEncoding ?? text, field: "recipient")
            }
            return MailRecipient(address: address, account: account)
        }
    }
}
