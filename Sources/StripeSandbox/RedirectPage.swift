/// The page that stands for a bank: two buttons, no script, nothing loaded from elsewhere.
enum RedirectPage {
    static func render(_ visit: RedirectVisit) -> String {
        let id = escape(visit.id)
        let choice =
            visit.isOpen
            ? """
            <form method="post" action="/redirect/\(id)/authorize">
            <button class="yes">Authorise test payment</button></form>
            <form method="post" action="/redirect/\(id)/fail">
            <button class="no">Fail test payment</button></form>
            """
            : """
            <p>Nothing left to do: its status is <b>\(escape(visit.status))</b>.</p>
            <p><a href="\(escape(visit.returnURL))">Back to the shop</a></p>
            """
        return page(
            title: "\(visit.title) test payment",
            """
            <p class="kind">\(escape(visit.title)) test payment</p>
            <h1>\(escape(visit.amount))</h1>
            <p class="id">\(id)</p>
            \(choice)
            """
        )
    }

    static var notFound: String {
        page(
            title: "Not found",
            "<h1>No such payment</h1><p>The link is wrong, or the sandbox was restarted.</p>"
        )
    }

    static func escape(_ text: String) -> String {
        var output = ""
        for character in text {
            switch character {
            case "&": output += "&amp;"
            case "<": output += "&lt;"
            case ">": output += "&gt;"
            case "\"": output += "&quot;"
            case "'": output += "&#39;"
            default: output.append(character)
            }
        }
        return output
    }

    private static func page(title: String, _ body: String) -> String {
        """
        <!doctype html>
        <html lang="en"><meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <title>\(escape(title))</title>
        <style>
        body{margin:0;min-height:100vh;display:grid;place-items:center;background:#eef1f6;
        color:#1a2233;font:16px/1.5 system-ui,sans-serif}
        main{background:#fff;padding:2.5rem;border-radius:1rem;text-align:center;width:20rem;
        max-width:80vw;box-shadow:0 1rem 3rem #1a223322}
        .kind{margin:0;color:#5b6478}h1{margin:.2rem 0;font-size:2.2rem}
        .id{margin:0 0 1.5rem;color:#5b6478;font:12px ui-monospace,monospace;overflow-wrap:anywhere}
        button{width:100%;margin:.4rem 0;padding:.9rem;border:0;border-radius:.6rem;font:inherit;
        font-weight:600;cursor:pointer}.yes{background:#4353e0;color:#fff}
        .no{background:#eef1f6;color:#8c1d2f}button:focus-visible{outline:3px solid #f5a524}
        @media(prefers-color-scheme:dark){body{background:#10141d;color:#e8ebf2}
        main{background:#1a2130}.no{background:#2a3346;color:#ff9fae}.kind,.id{color:#9aa5bd}}
        </style>
        <main>
        \(body)
        </main></html>
        """
    }
}
