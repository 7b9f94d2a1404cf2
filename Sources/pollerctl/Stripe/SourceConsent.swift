import ArgumentParser
import Foundation
import SafeNumbers
import StripeAPI

/// Whose a source is to be, how its customer agreed to be debited, and who asks where money goes back to.
struct SourceConsent: ParsableArguments {
    @Option(help: "Attach it at once, cus_…; for reusable sources.")
    var customer: String?

    @Option(help: "The platform's source it is made from, src_… (Connect).")
    var originalSource: String?

    @Option(help: "redirect, receiver, code_verification or none; the type's own when absent.")
    var flow: String?

    @Option(help: "reusable or single_use; the type's own when absent.")
    var usage: String?

    @Option(
        name: .customLong("refund-attributes"),
        help: "Who asks where a transfer goes back to: email, manual or none."
    )
    var refundAttributes: String?

    @Option(
        name: .customLong("mandate-notification"),
        help: "Who tells the customer of each debit: email, stripe_email, manual or none."
    )
    var notification: String?

    @Option(
        name: .customLong("mandate-ip"),
        help: "The customer agreed on a page, now, from this address."
    )
    var ip: String?

    @Option(
        name: .customLong("mandate-user-agent"),
        help: "The browser the customer agreed with; goes with --mandate-ip."
    )
    var userAgent: String?

    @Option(
        name: .customLong("mandate-contact"),
        help: "The customer agreed on paper, now; where the copy can be asked for."
    )
    var contact: String?

    func validate() throws {
        func check(_ name: String, _ word: String?, _ known: Set<String>) throws {
            guard let word, !known.contains(word) else { return }
            throw ValidationError("--\(name) is \(known.sorted().joined(separator: ", "))")
        }
        try check("flow", flow, SourceFlow.known)
        try check("usage", usage, SourceUsage.known)
        try check("refund-attributes", refundAttributes, RefundAttributesMethod.known)
        try check("mandate-notification", notification, MandateNotificationMethod.known)
        guard ip == nil || contact == nil else {
            throw ValidationError("--mandate-ip is a page's, --mandate-contact paper's: not both")
        }
        guard userAgent == nil || ip != nil else {
            throw ValidationError("--mandate-user-agent goes with --mandate-ip")
        }
    }

    /// Sets what was given.
    func apply(to params: inout SourceParams) {
        params.customer = customer
        params.originalSource = originalSource
        if let flow { params.flow = SourceFlow(rawValue: flow) }
        if let usage { params.usage = SourceUsage(rawValue: usage) }
        params.refundAttributesMethod = refundAttributes.map(RefundAttributesMethod.init(rawValue:))
        let now = Int(saturating: Date().timeIntervalSince1970)
        let acceptance =
            ip.map { SourceMandate.Acceptance.online(date: now, ip: $0, userAgent: userAgent) }
            ?? contact.map { .offline(date: now, contactEmail: $0) }
        let method = notification.map(MandateNotificationMethod.init(rawValue:))
        guard acceptance != nil || method != nil else { return }
        params.mandate = SourceMandate(acceptance: acceptance, notificationMethod: method)
    }
}
