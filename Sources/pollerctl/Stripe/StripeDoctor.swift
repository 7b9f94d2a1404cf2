import ArgumentParser
import Foundation
import SafeNumbers
import StripeAPI

struct StripeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stripe",
        abstract: "Check the Stripe account.",
        discussion: """
            Calls Stripe directly. Set STRIPE_API_KEY to the key, and POLLER_STRIPE_API_BASE to use a \
            sandbox.
            """,
        example: "pollerctl stripe doctor",
        subcommands: [StripeDoctor.self]
    )
}

/// `pollerctl stripe doctor`: problems of the account and how to fix them.
///
/// It only reads; it changes, creates and charges nothing at Stripe.
struct StripeDoctor: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract:
            "Check the account's key, clock, limits, webhooks and Sources, and suggest fixes.",
        discussion: """
            Read-only. Makes about fifteen requests with the key in STRIPE_API_KEY. Exit status: 0 no \
            check failed (warnings do not count), 1 some failed, 64 no key, 69 Stripe is \
            unreachable, 77 the key is invalid.
            """,
        example: "pollerctl stripe doctor --json"
    )

    /// Pages of 100 events read to find the Sources in use.
    private static let pagesMax = 5
    private static let daySeconds = 24 * 3600

    @Option(help: "The cluster's webhook URL (default: recognised by its path).")
    var url: String?

    @Flag(help: "Print JSON instead of text.")
    var json = false

    @OptionGroup var stripe: StripeOptions

    func run() async throws {
        let checkup = try await stripe.perform(isRead: true) { client throws(StripeError) in
            try await inspect(client)
        }
        if json {
            try checkup.showJSON()
        } else {
            Doctor.show(checkup.checks)
        }
        guard checkup.isHealthy else { throw ExitCode(1) }
    }

    /// Runs all checks; skips resources that the key may not read.
    private func inspect(_ client: StripeClient) async throws(StripeError) -> StripeCheckup {
        var checkup = StripeCheckup()
        let key = client.configuration.key
        var answers: [String: Int] = [:]
        var limited: [String] = []
        var clock: (aheadMs: Int?, tripMs: Int) = (nil, 0)
        for one in StripeCheckup.needed {
            let query = one.path.hasSuffix("_doctor") ? [] : [("limit", "1")]
            let began = Date()
            let answer = try await client.get(one.path, query: query)
            let ended = Date()
            guard answer.status != 401 else { throw .api(answer.failure) }
            answers[one.resource] = answer.status
            if answer.status == 429 { limited.append(answer.headers.rateLimitedReason ?? "locked") }
            let tripMs = Int(saturating: ended.timeIntervalSince(began) * 1000)
            // The first request includes connecting, so the fastest response is the most accurate.
            if clock.aheadMs == nil || tripMs < clock.tripMs {
                clock = (Self.ahead(of: answer.headers.date, began, ended), tripMs)
            }
        }
        checkup.judge(key: key, answers: answers)
        checkup.judge(clockAheadMs: clock.aheadMs, tripMs: clock.tripMs)
        checkup.judge(
            requests: answers.count,
            limited: limited,
            isLive: key.isLive == true
        )
        if answers["webhook_endpoints"] == 200 {
            let endpoints = try await client.listWebhookEndpoints()
            checkup.judge(endpoints: endpoints.data, url: url)
        }
        guard answers["events"] == 200 else { return checkup }
        let now = Int(saturating: Date().timeIntervalSince1970)
        let waiting = try await client.listEvents(
            EventQuery(
                types: [],
                created: TimeBounds(from: now - Self.daySeconds),
                deliverySuccess: false
            )
        )
        checkup.judge(undelivered: waiting.data, hasMore: waiting.hasMore)
        let (seen, isAll) = try await sources(client, mayReadCharges: answers["charges"] == 200)
        checkup.judge(sources: seen, isAll: isAll)
        return checkup
    }

    /// The types of the Sources in use, by ID.
    ///
    /// Stripe cannot list Sources, so they are found from events and charges.
    private func sources(
        _ client: StripeClient,
        mayReadCharges: Bool
    ) async throws(StripeError) -> (seen: [String: String], isAll: Bool) {
        var seen: [String: String] = [:]
        var isAll = true
        var cursor: PageCursor?
        for page in 1...Self.pagesMax {
            let events = try await client.listEvents(
                EventQuery(types: EventTypes.sources),
                cursor: cursor
            )
            for event in events.data where event.data.object["object"]?.string == "source" {
                guard let id = event.objectID, let type = event.data.object["type"]?.string else {
                    continue
                }
                seen[id] = type
            }
            guard events.hasMore, let oldest = events.data.last else { break }
            cursor = .startingAfter(oldest.id)
            isAll = page < Self.pagesMax
        }
        guard mayReadCharges else { return (seen, isAll) }
        let since = Int(saturating: Date().timeIntervalSince1970) - 30 * Self.daySeconds
        let charges = try await client.listCharges(created: TimeBounds(from: since))
        for charge in charges.data where charge.source?.object == "source" {
            guard let source = charge.source,
                let type = charge.allResponseFields["source"]?["type"]?.string
            else { continue }
            seen[source.id] = type
        }
        return (seen, isAll && !charges.hasMore)
    }

    /// How far the local clock is ahead of a response's date; `nil` without a date.
    private static func ahead(of date: String?, _ began: Date, _ ended: Date) -> Int? {
        let format = DateFormatter()
        format.locale = Locale(identifier: "en_US_POSIX")
        format.timeZone = TimeZone(identifier: "GMT")
        // RFC 9110, section 5.6.7: the only current format.
        format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        guard let date, let theirs = format.date(from: date) else { return nil }
        let middle = began.addingTimeInterval(ended.timeIntervalSince(began) / 2)
        // The date is truncated to the second, so the expected value is half a second later.
        return Int(saturating: (middle.timeIntervalSince(theirs) - 0.5) * 1000)
    }
}
