package fawn.hadoop.workloads;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A page of HTML: its text, and the pages that it links to. */
final class Page {
    private static final int FLAGS = Pattern.DOTALL | Pattern.CASE_INSENSITIVE;
    private static final Pattern HIDDEN = Pattern.compile(
            "<(script|style)[ >].*?</\\1 *>|<!--.*?-->|<[^>]*>|&#?[0-9A-Za-z]+;", FLAGS);
    private static final Pattern LINK = Pattern.compile("<a [^>]*?href=\"([^\"#?]*)[^\"]*\"[^>]*>(.*?)</a>", FLAGS);

    private final String path;
    private final String html;

    /** A link to another page of the same site. */
    static final class Link {
        final String target;
        final String text;

        Link(String target, String text) {
            this.target = target;
            this.text = text;
        }
    }

    /** One at an absolute path. */
    Page(String path, String html) {
        this.path = path;
        this.html = html;
    }

    String text() {
        return shown(html);
    }

    private static String shown(String html) {
        return HIDDEN.matcher(html).replaceAll(" ");
    }

    /** Links to pages of the same site, in their order. */
    List<Link> links() {
        List<Link> links = new ArrayList<>();
        for (Matcher link = LINK.matcher(html); link.find();) {
            String target = resolve(link.group(1));
            if (target != null) {
                links.add(new Link(target, shown(link.group(2))));
            }
        }
        return links;
    }

    /** The absolute path of a link; {@code null} if it leaves the site. */
    private String resolve(String link) {
        if (link.isEmpty() || link.contains(":") || link.startsWith("//")) {
            return null;
        }
        String whole = link.startsWith("/") ? link : path.substring(0, path.lastIndexOf('/') + 1) + link;
        Deque<String> parts = new ArrayDeque<>();
        for (String part : whole.split("/")) {
            if (part.equals("..")) {
                parts.pollLast();
            } else if (!part.isEmpty() && !part.equals(".")) {
                parts.addLast(part);
            }
        }
        return "/" + String.join("/", parts);
    }
}
