import HTTPTypes
import Hummingbird
import Logging
import Poller
import PollerIdentity
import PollerLocalization
import PollerPayments
import PollerQueue
import PollerWatches

/// The link that leads a customer back to the bank.
///
/// *Problem*: the bank's URL contains the payment's client secret. No event contains it, and a page must not either,
/// because a bystander or anyone with the page's source could read it.
/// *Approach*: the page links to this server. The route requires the cookie of a customer who has presented the secret,
/// and redirects to the bank. The secret replaces the redaction that recording put into the URL. The URL of an intent
/// contains the secret of another object, which this server does not know. Its customer continues from the shop.
struct ReturnLink: Hashable {
    /// The path on this server.
    let path: String
    /// The target of the redirect.
    let target: String

    /// Creates the link of a watch; `nil` if no target is known.
    init?(_ snapshot: WatchSnapshot, path: String) {
        guard snapshot.closed == nil, let event = snapshot.lastEvent,
            case .followLink(let link) = event.nextStep
        else { return nil }
        let secret = snapshot.watch.clientSecret?.reveal
        let recorded = UpstreamObject(event).redirect.flatMap { url -> String? in
            guard url.contains("client_secret=redacted") else { return url }
            guard snapshot.watch.key.kind == .source, let secret else { return nil }
            return url.replacing("client_secret=redacted", with: "client_secret=\(secret)")
        }
        guard let target = link.url ?? recorded, NextStep.isSafe(target) else { return nil }
        self.path = path
        self.target = target
    }

    /// The step with this server's path in place of the upstream's URL.
    var step: NextStep { .followLink(.init(url: path)) }

    /// The redirect, which sends no referrer.
    var response: Response {
        Response(
            status: .seeOther,
            headers: [.location: target, .referrerPolicy: "no-referrer"]
        )
    }
}

extension ReturnPageRoutes {
    static let onward = Route(
        .get,
        "/r/{source}/continue",
        "returnContinue",
        "On to the bank, for a customer who left off there",
        access: .anyClient,
        input: .returnParameters(at: .payment),
        answers: pages
    )

    /// Redirects a customer who has presented the secret to the bank, or to the page if there is no target any more.
    func redirectToBank(
        _ parameters: ReturnParameters,
        _ request: Request,
        _ context: APIContext
    ) async throws -> Response {
        let words = localizedWords(to: request)
        guard let key = Self.key(parameters.payment, parameters["account"]) else {
            return page.neutral(in: words)
        }
        do throws(StoreError) {
            let snapshot = try await watches.snapshot(of: key)
            let proof = ReturnCookie(key: key, isLocal: Self.isLocal(request))
            let secret = snapshot?.watch.clientSecret
            // A granted URL, published with the payment, also redirects from another page or device.
            let isGranted =
                parameters["grant"].map { secret?.grants($0, for: key) ?? false } ?? false
            let isProven = proof.isProven(by: request.headers[.cookie], of: snapshot?.watch)
            guard isProven || isGranted, let snapshot else { return page.neutral(in: words) }
            await note(.onward, of: key)
            let back = Self.path(key)
            var response =
                ReturnLink(snapshot, path: back)?.response
                ?? Response(status: .seeOther, headers: [.location: back])
            if isGranted, let secret = secret?.reveal {
                response.headers[.setCookie] = proof.cookie(secret)
            }
            return response
        } catch {
            context.logger.warning("no way on without a store", metadata: ["error": "\(error)"])
            return unavailable(of: key.account, to: request)
        }
    }
}
