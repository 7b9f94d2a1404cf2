package import Poller
import StripeAPI

/// Stripe's own list of an account's events, for the sweep.
///
/// *Order*: Stripe lists the newest first; the sweep is given them oldest first, and goes on behind
/// the last one it has seen (`ending_before`). An event says where to look and nothing else: what we
/// see there is true, so neither order nor repetition can do harm.
///
/// | the sweep's cursor | what is asked |
/// |---|---|
/// | `start` | the newest event alone: what was before is the polls' |
/// | `since` a time | up to 50 pages from there, when no event to begin at is known |
/// | `after` an event | one page behind it |
///
/// *Errors*: Stripe keeps events for thirty days; behind an older one nothing can be listed, which is
/// `cursorTooOld`; everything else is `unavailable`.
package struct StripeEvents: AccountEvents {
    /// What a sweep asks for: every change that ends or moves a payment.
    ///
    /// Twenty names is what one request may have (<doc:StripeFacts>). There is no `source.consumed`: it shows in `charge.*`.
    static let types = [
        "source.chargeable", "source.failed", "source.canceled",
        "source.refund_attributes_required", "payment_intent.requires_action",
        "payment_intent.processing", "payment_intent.amount_capturable_updated",
        "payment_intent.succeeded", "payment_intent.payment_failed", "payment_intent.canceled",
        "setup_intent.requires_action", "setup_intent.succeeded", "setup_intent.setup_failed",
        "setup_intent.canceled", "charge.pending", "charge.succeeded", "charge.failed",
        "charge.captured", "charge.expired", "charge.refunded",
    ]
    /// What a sweep asks for five times as seldom: what money does after it has arrived, and what else is
    /// rare.
    static let moneyTypes = [
        "charge.refund.updated", "refund.created", "refund.updated", "refund.failed",
        "charge.dispute.created", "charge.dispute.updated", "charge.dispute.closed",
        "charge.dispute.funds_withdrawn", "charge.dispute.funds_reinstated",
        "payment_intent.partially_funded", "source.transaction.created",
        "source.transaction.updated", "source.mandate_notification",
    ]
    /// A page takes longer than an object; lists are expensive for Stripe (<doc:StripeFacts>).
    private static let timeout = Duration.seconds(20)
    /// Whoever posts a webhook waits for it.
    private static let chargeTimeout = Duration.seconds(5)
    /// Pages read at once where there is no event to begin at: 5,000 events, which an account
    /// that had none cannot exceed in the time between two sweeps.
    private static let pagesMax = 50

    private let accounts: StripeAccounts

    /// Reads with the credentials of each account.
    package init(accounts: StripeAccounts) {
        self.accounts = accounts
    }

    package func events(
        of account: AccountID,
        _ list: EventList,
        from cursor: SweepCursor
    ) async throws(AccountEventsFailure) -> AccountEventsPage {
        let types = list == .usual ? Self.types : Self.moneyTypes
        guard var client = accounts.client(for: account) else {
            throw .unavailable("no API key is configured for account \(account)")
        }
        client.configuration.timeout = Self.timeout
        do throws(StripeError) {
            switch cursor {
            case .start:
                let newest = try await client.listEvents(EventQuery(types: types), limit: 1)
                return AccountEventsPage(events: newest.data.map(\.asHint), hasMore: false)
            case .since(let time):
                return try await allEvents(client, types, since: time)
            case .after(let id):
                let page = try await client.listEvents(
                    EventQuery(types: types),
                    cursor: .endingBefore(id)
                )
                return AccountEventsPage(
                    events: page.data.reversed().map(\.asHint),
                    hasMore: page.hasMore
                )
            }
        } catch .api(let failure) where failure.error?.code == "resource_missing" {
            throw .cursorTooOld
        } catch {
            throw .unavailable("\(error)")
        }
    }

    package func subject(
        ofCharge charge: ChargeID,
        in account: AccountID
    ) async throws(AccountEventsFailure) -> SourceID? {
        guard let client = accounts.client(for: account) else { return nil }
        do throws(StripeError) {
            let found = try await client.retrieveCharge(
                charge.description,
                timeout: Self.chargeTimeout
            )
            // What has an id that we could not watch is none of ours.
            return (found.paymentIntent ?? found.source?.id).flatMap { try? SourceID($0) }
        } catch .api(let failure) where failure.status == 404 {
            return nil
        } catch {
            throw .unavailable("\(error)")
        }
    }

    package func notice(
        _ id: String,
        of source: SourceID,
        in account: AccountID
    ) async throws(AccountEventsFailure) -> NoticeLookup {
        guard let client = askedOnce(account) else { return .unreadable }
        do throws(StripeError) {
            let found = try await client.retrieveMandateNotification(
                id,
                ofSource: source.description,
                timeout: Self.chargeTimeout
            )
            // An answer about anything else confirms nothing.
            guard found.id == id, found.source?.id == source.description,
                let notice = StripeEvent.notice(found.allResponseFields)
            else { return .unknown }
            return .found(notice)
        } catch .api(let failure) where failure.isOfNoSuchObject {
            return .unknown
        } catch .api(let failure) where failure.status == 403 {
            return .unreadable
        } catch .invalidRequest {
            return .unknown
        } catch {
            throw .unavailable("\(error)")
        }
    }

    package func hasEvent(
        _ id: String,
        about object: SourceID,
        in account: AccountID
    ) async throws(AccountEventsFailure) -> Bool {
        guard let client = askedOnce(account) else { return false }
        do throws(StripeError) {
            let found = try await client.retrieveEvent(id, timeout: Self.chargeTimeout)
            return found.id == id && found.objectID == object.description
        } catch .api(let failure) where failure.isOfNoSuchObject || failure.status == 403 {
            return false
        } catch .invalidRequest {
            return false
        } catch {
            throw .unavailable("\(error)")
        }
    }

    /// A client that tries once, because the sender of a webhook delivers it again.
    private func askedOnce(_ account: AccountID) -> StripeClient? {
        guard var client = accounts.client(for: account) else { return nil }
        client.configuration.retry = .never
        return client
    }

    /// Everything from a time on, where no event is known to begin beside.
    private func allEvents(
        _ client: StripeClient,
        _ types: [String],
        since time: Timestamp
    ) async throws(StripeError) -> AccountEventsPage {
        let query = EventQuery(
            types: types,
            created: TimeBounds(from: Int(clamping: time.ms / 1000))
        )
        var newestFirst: [AccountEvent] = []
        var cursor: PageCursor?
        for _ in 0..<Self.pagesMax {
            let page = try await client.listEvents(query, cursor: cursor)
            newestFirst += page.data.map(\.asHint)
            guard page.hasMore, let oldest = page.data.last else { break }
            cursor = .startingAfter(oldest.id)
        }
        return AccountEventsPage(events: newestFirst.reversed(), hasMore: false)
    }
}

extension APIFailure {
    /// Whether Stripe knows no such object, or no such account for this key.
    fileprivate var isOfNoSuchObject: Bool {
        status == 404 || error?.code == "resource_missing" || error?.code == "account_invalid"
    }
}

extension StripeEvent {
    /// An event that Stripe has listed for us.
    var asHint: AccountEvent { hint(mandate.map { .confirmed($0) }) }

    /// An event from a webhook: the ids of its objects, without their fields.
    var asClaim: AccountEvent {
        let object = data.object
        let names = (
            notice: object["id"]?.string,
            source: object["source"]?["id"]?.string ?? object["source"]?.string
        )
        guard type == "source.mandate_notification", let notice = names.notice,
            let source = names.source.flatMap({ try? SourceID($0) })
        else { return hint(nil) }
        return hint(.claimed(id: notice, of: source))
    }

    /// The ids to poll: of its object, and of the source or intent that it belongs to.
    private func hint(_ mandate: MandateAnnouncement?) -> AccountEvent {
        let object = data.object
        let texts = [
            object["id"]?.string, object["payment_intent"]?.string,
            object["payment_intent"]?["id"]?.string, object["source"]?.string,
            object["source"]?["id"]?.string, object["charge"]?.string,
            object["charge"]?["id"]?.string,
            // Sources charged by an intent, and the charge of a hold that was cancelled: it shows nothing of that.
            type.hasPrefix("charge.") ? object["payment_method"]?.string : nil,
            type == "payment_intent.canceled" ? object["latest_charge"]?.string : nil,
        ]
        var subjects: [SourceID] = []
        for text in texts.compactMap(\.self) {
            // An id we could not watch is none of ours.
            guard let subject = try? SourceID(text), !subjects.contains(subject) else { continue }
            subjects.append(subject)
        }
        return AccountEvent(
            id: id,
            type: type,
            subjects: subjects,
            news: news,
            mandate: mandate
        )
    }

    /// The debit it announces.
    ///
    /// *Source*: Stripe's specification of `source_mandate_notification`.
    private var mandate: MandateNotice? {
        type == "source.mandate_notification" ? Self.notice(data.object) : nil
    }

    /// The debit that a `source_mandate_notification` announces.
    static func notice(_ object: JSONValue) -> MandateNotice? {
        guard let id = object["id"]?.string else { return nil }
        let details = (object["type"]?.string).flatMap { object[$0] }
        var notice = MandateNotice(id: id)
        notice.reason = object["reason"]?.string
        notice.amount = object["amount"]?.integer.flatMap { Amount(nonNegative: $0) }
        notice.currency = object["source"]?["currency"]?.string
        notice.last4 = details?["last4"]?.string
        notice.reference = details?["mandate_reference"]?.string
        notice.creditor = details?["creditor_identifier"]?.string
        notice.createdAt = object["created"]?.integer.flatMap { Timestamp(unixSeconds: $0) }
        return notice
    }

    /// What it is news of: what money does after it has arrived, how a bank has answered, or something
    /// else.
    private var news: HintNews {
        if ["charge.refund", "charge.dispute.", "refund."].contains(where: type.hasPrefix) {
            return .money
        }
        switch type {
        // A charge that has succeeded fails when the bank takes the money back; and what arrives at a
        // receiver that has ended has to go back from it.
        case "charge.expired", "charge.captured", "charge.failed",
            "source.refund_attributes_required", "payment_intent.amount_capturable_updated":
            return .money
        // A hold that was cancelled is not refunded any more (2025-03-31.basil).
        case "payment_intent.canceled" where data.object["latest_charge"]?.string != nil:
            return .money
        case "charge.succeeded", "charge.pending", "payment_intent.succeeded",
            "payment_intent.payment_failed":
            return .outcome
        default: return .anything
        }
    }
}
