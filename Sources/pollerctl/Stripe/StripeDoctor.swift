import ArgumentParser
import Foundation
import SafeNumbers
import StripeAPI

/// `pollerctl stripe`: the account at Stripe as a whole.
struct StripeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stripe",
        abstract: "Look after the account at Stripe.",
        discussion: """
            Talks to Stripe itself: STRIPE_API_KEY is the key, POLLER_STRIPE_API_BASE another \
            address such as a sandbox's.
            """,
        subcommands: [StripeDoctor.self]
    )
}

/// `pollerctl stripe doctor`: what is wrong with the account, and what to do.
///
/// Reads only: nothing at Stripe is changed, created or charged.
struct StripeDoctor: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract:
            "Check key, clock, limits, webhooks and Sources of the account, and say what to do.",
        discussion: """
            Reads only. About fifteen requests, each with the key in STRIPE_API_KEY. Exit status: 0 no \
            check failed (warnings do not count), 1 some did, 64 no key, 69 Stripe is \
            unreachable, 77 the key is refused.
            """
    )

    /// Pages of a hundred events that are read for the Sources in use.
    private static let pagesMax = 5
    private static let daySeconds = 24 * 3600

    @Option(help: "The cluster's own webhook address; known by its path when absent.")
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

    /// Asks for everything that is judged; what the key may not read is left out.
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
            // The first answer carries the making of the connection: the quickest one tells most.
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

    /// The Sources in use, by id with their type.
    ///
    /// They cannot be listed: their events and their charges tell of them.
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

    /// How far our clock is ahead of the date of an answer; nil without one.
    private static func ahead(of date: String?, _ began: Date, _ ended: Date) -> Int? {
        let format = DateFormatter()
        format.locale = Locale(identifier: "en_US_POSIX")
        format.timeZone = TimeZone(identifier: "GMT")
        // RFC 9110, section 5.6.7: the one form that is sent today.
        format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        guard let date, let theirs = format.date(from: date) else { return nil }
        let middle = began.addingTimeInterval(ended.timeIntervalSince(began) / 2)
        // A date is cut to the second: half of one is the middle of what it may have been.
        return Int(saturating: (middle.timeIntervalSince(theirs) - 0.5) * 1000)
    }
}
