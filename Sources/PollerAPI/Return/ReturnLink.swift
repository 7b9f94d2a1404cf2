import HTTPTypes
import Hummingbird
import Logging
import Poller
import PollerIdentity
import PollerQueue
import PollerWords

/// The way on to a bank for a customer who left off there.
///
/// *Problem*: the address carries the payment's own client secret, as the upstream makes it; it is in no
/// event, and has no place in a page, where whoever looks over a shoulder or at the page's source finds it.
/// *Approach*: the page leads to an address of ours, which needs the cookie of somebody who has shown the
/// secret, and that leads on. The secret is put back into the address where recording it had taken it out.
/// An intent's address has the secret of another object in it, which nobody here knows: its customer goes
/// on from the shop.
struct ReturnLink: Hashable {
    /// Our address that leads on.
    let path: String
    /// Where it leads.
    let target: String

    /// The way on from a watch; nil when there is none that we know.
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

    /// The step with our address in place of the upstream's.
    var step: NextStep { .followLink(.init(url: path)) }

    /// The answer that leads on, and tells nobody where from.
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
        access: .anybody,
        input: .visit(at: .payment),
        answers: pages
    )

    /// Leads a customer on who has shown the secret; to the page where there is nowhere to go by now.
    @Sendable
    func lead(
        _ visit: ReturnVisit,
        _ request: Request,
        _ context: APIContext
    ) async throws -> Response {
        let words = spoken(to: request)
        guard let key = Self.key(visit.payment, visit["account"]) else {
            return page.neutral(in: words)
        }
        do throws(StoreError) {
            let snapshot = try await watches.snapshot(of: key)
            let proof = ReturnCookie(key: key, isLocal: Self.isLocal(request))
            let secret = snapshot?.watch.clientSecret
            // An address that was told with the payment leads on too, from another page or device.
            let isGranted = visit["grant"].map { secret?.grants($0, for: key) ?? false } ?? false
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
