"""Learning to rank: what RankLib, Solr and Elasticsearch share."""
